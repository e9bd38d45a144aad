drop table if exists {schema}.on_model_hook;

create table {schema}.on_model_hook (
    test_state text,
    target_dbname text,
    target_host text,
    target_name text,
    target_schema text,
    target_type text,
    target_user text,
    target_pass text,
    target_port int,
    target_threads int,
    run_started_at text,
    invocation_id text,
    thread_id text
);
