{#- DuckLake's files belong to one table, so a clone is a view of the other relation; with `clone_as: table` it is a copy. -#}
{% materialization clone, adapter='ducklake' -%}

  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing_relation ~ ' already exists', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- if this.render() == defer_relation.render() -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this.render()) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set other_relation = load_cached_relation(defer_relation) -%}
  {%- set as_table = config.get('clone_as', 'view') == 'table' and other_relation and other_relation.is_table -%}
  {%- set target_relation = this.incorporate(type='table' if as_table else 'view') -%}

  {% call statement('main') -%}
    create or replace {{ target_relation.type }} {{ target_relation.render() }} as
    select * from {{ defer_relation.render() }}
  {%- endcall %}
  {%- if existing_relation is not none and existing_relation.type != target_relation.type -%}
    {% do adapter.cache_dropped(existing_relation) %}
  {%- endif %}
  {% do apply_grants(target_relation, config.get('grants')) %}
  {% do persist_docs(target_relation, model) %}
  {{ adapter.commit() }}
  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization %}
