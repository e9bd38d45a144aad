{% materialization incremental, adapter='ducklake', supported_languages=['sql', 'python'] -%}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set temp_relation = make_temp_relation(target_relation) -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- if strategy == 'microbatch' and model['language'] != 'sql' -%}
    {% do exceptions.raise_compiler_error(
      'The python model ' ~ this.render() ~ ' cannot be built in batches: dbt gives it all rows of what it refers to, '
      ~ 'and not those of a batch. Write it in SQL, or choose another strategy.'
    ) %}
  {%- endif -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- if strategy == 'merge' or (strategy == 'default' and unique_key) -%}
    {#- Wrong configs are told before anything runs. -#}
    {%- if adapter.merge_plan(model.config).adds_columns -%}
      {%- set on_schema_change = 'append_new_columns' -%}
    {%- endif -%}
  {%- endif -%}
  {%- set predicates = config.get('predicates', none) or config.get('incremental_predicates', none) or [] -%}
  {%- set grant_config = config.get('grants') -%}
  {%- set rebuild = existing_relation is none or not existing_relation.is_table or should_full_refresh() -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if rebuild and strategy == 'microbatch' %}
    {#- The first batch, too, must write its own rows only. -#}
    {% call statement('empty_table') -%}
      {{ create_table_as(False, target_relation, get_empty_subquery_sql(model['compiled_code'])) }}
    {%- endcall %}
    {% do ducklake__forget_view(existing_relation) %}
    {% call statement('main') -%}
      {{ ducklake__get_incremental_microbatch_sql({
        'target_relation': target_relation,
        'dest_columns': adapter.get_columns_in_relation(target_relation),
        'incremental_predicates': [predicates] if predicates is string else predicates
      }) }}
    {%- endcall %}
  {% elif rebuild %}
    {% call statement('main', language=model['language']) -%}
      {{ create_table_as(False, target_relation, model['compiled_code'], model['language']) }}
    {%- endcall %}
    {% do ducklake__forget_view(existing_relation) %}
  {% else %}
    {% call statement('new_rows', language=model['language']) -%}
      {{ create_table_as(True, temp_relation, model['compiled_code'], model['language']) }}
    {%- endcall %}
    {% set contract = config.get('contract') %}
    {#- With `fail` a wider type is one of the changes that fail. -#}
    {% if on_schema_change != 'fail' and not (contract and contract.enforced) %}
      {% do adapter.expand_target_column_types(from_relation=temp_relation, to_relation=target_relation) %}
    {% endif %}
    {% set dest_columns = process_schema_changes(on_schema_change, temp_relation, existing_relation) %}
    {% do ducklake__apply_layout(target_relation) %}
    {% if not dest_columns %}
      {% set dest_columns = adapter.get_columns_in_relation(existing_relation) %}
    {% endif %}
    {%- set new_rows = temp_relation -%}
    {%- if not ducklake__reads_once(strategy, strategy_macro) -%}
      {#- A new column that the table does not get may be of a type that no table can hold. -#}
      {%- set names = dest_columns | map(attribute='name') | list if strategy == 'delete+insert' else none -%}
      {% set new_rows = ducklake__evaluate_once(temp_relation, target_relation, names) %}
    {%- endif -%}
    {% set build_sql = strategy_macro({
      'target_relation': target_relation,
      'temp_relation': new_rows,
      'unique_key': unique_key,
      'dest_columns': dest_columns,
      'incremental_predicates': [predicates] if predicates is string else predicates
    }) %}
    {%- if strategy == 'microbatch' -%}
      {#- Nothing depends on what was read so far; a batch may have been written since. -#}
      {% do adapter.look_again() %}
    {%- endif %}
    {% call statement('main') -%}
      {{ build_sql }}
    {%- endcall %}
    {% do ducklake__drop_temp_relation(temp_relation) %}
    {% if new_rows.is_table %}
      {% do ducklake__drop_temp_relation(new_rows) %}
    {% endif %}
  {% endif %}

  {% if load_result('main')['response'].rows_left_out %}
    {% do adapter.warn_once(
      'Batches of ' ~ target_relation.render() ~ ' left out rows whose ' ~ model.config.event_time ~ ' is NULL or '
      ~ 'not within the batch' ~ (', or that do not meet the incremental predicates' if predicates else '') ~ '. '
      ~ 'If an input has no event_time, set it, so that dbt filters the input for each batch. '
      ~ 'If the model changes its own event_time, such as by a cast to a date or to another time zone, '
      ~ 'keep the original time in event_time: batches are bounded in UTC.'
    ) %}
  {% endif %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization %}
