{{ config(
    materialized='incremental',
    incremental_strategy='microbatch',
    event_time='viewed_at',
    batch_size='day',
    lookback=1,
    begin=(modules.datetime.datetime.now(modules.pytz.utc) - modules.datetime.timedelta(days=5)).strftime('%Y-%m-%d'),
    partitioned_by=['year(viewed_at)', 'month(viewed_at)', 'day(viewed_at)']
) }}
-- A batch is a day: each run does yesterday and today again, and a day can be done alone.

select
    id as view_id,
    visitor,
    page,
    split_part(page, '/', 2) as section,
    viewed_at
from {{ source('till', 'page_views') }}
