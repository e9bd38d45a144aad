{#-
  DuckLake's files belong to one table, so nothing is cloned for free. By default a clone of a table is
  a view of the snapshot that there is now (`clone_as: snapshot`); it can be a view of the table as it
  goes on (`clone_as: view`), or a copy (`clone_as: table`).
-#}
{% materialization clone, adapter='ducklake' -%}

  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation and not existing_relation.is_function and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing_relation ~ ' already exists', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}
  {%- if this.render() == defer_relation.render() -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this.render()) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set other_relation = load_cached_relation(defer_relation) -%}
  {%- set clone_as = config.get('clone_as', 'snapshot') -%}
  {%- if clone_as not in ('snapshot', 'view', 'table') -%}
    {% do exceptions.raise_compiler_error("clone_as must be snapshot, view or table, not '" ~ clone_as ~ "'") %}
  {%- endif -%}
  {%- set is_table = other_relation is not none and other_relation.is_table -%}
  {%- set as_table = is_table and clone_as == 'table' -%}
  {%- set target_relation = this.incorporate(type='table' if as_table else 'view') -%}

  {% call statement('main') -%}
    create or replace {{ target_relation.type }} {{ target_relation.render() }} as
    select * from {{ defer_relation.render() }}
    {%- if is_table and clone_as == 'snapshot' %} version as of {{ adapter.newest_snapshot(defer_relation) }}{% endif %}
  {%- endcall %}
  {%- if existing_relation is not none and existing_relation.type != target_relation.type -%}
    {% do adapter.cache_dropped(existing_relation) %}
  {%- endif %}
  {% do apply_grants(target_relation, config.get('grants')) %}
  {% do persist_docs(target_relation, model) %}
  {{ adapter.commit() }}
  {{ return({'relations': [target_relation]}) }}

{%- endmaterialization %}
