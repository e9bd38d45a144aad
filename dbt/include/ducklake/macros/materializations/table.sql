{% materialization table, adapter='ducklake', supported_languages=['sql', 'python'] %}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set grant_config = config.get('grants') -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% call statement('main', language=model['language']) -%}
    {{ create_table_as(False, target_relation, model['compiled_code'], model['language']) }}
  {%- endcall %}
  {% do ducklake__forget_view(existing_relation) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do apply_grants(target_relation, grant_config) %}
  {% do persist_docs(target_relation, model) %}
  {{ adapter.commit() }}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{#- Where a table takes the place of a view or the name of a macro, dbt's cache must know. -#}
{% macro ducklake__forget_view(relation) -%}
  {%- if relation is not none and not relation.is_table -%}
    {% do adapter.cache_dropped(relation) %}
  {%- endif -%}
{%- endmacro %}
