{#- A lake has no users of its own: who may do what is for the catalog database and the storage. -#}
{% macro ducklake__apply_grants(relation, grant_config, should_revoke=True) -%}
  {%- if grant_config -%}
    {% do exceptions.warn(
      "grants of " ~ relation.render() ~ " were not applied: DuckLake has no grants. "
      "Give roles their rights in the catalog database and on the storage."
    ) %}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__copy_grants() -%}
  {{ return(False) }}
{%- endmacro %}
