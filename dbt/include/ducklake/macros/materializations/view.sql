{% materialization view, adapter='ducklake' -%}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='view') -%}
  {%- set grant_config = config.get('grants') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% call statement('main') -%}
    {#- dbt 1.12 sets no `sql` for the latest version pointer of a Python model. #}
    {{ get_create_view_as_sql(target_relation, sql if sql is not none else model['compiled_code']) }}
  {%- endcall %}
  {%- if existing_relation is not none and not existing_relation.is_view -%}
    {% do adapter.cache_dropped(existing_relation) %}
  {%- endif %}

  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization %}
