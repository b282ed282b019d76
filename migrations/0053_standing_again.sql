-- What an import committed after 0044 had read the rosters, and before its trigger was there, was noted nowhere: where each roster stands is
-- noted once more. Only where it differs, and never as an earlier version than another transaction notes meanwhile.
insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, rendered_to, records, pupils)
  select r.estab, r.id, r.version, r.kept_from, v.instant, r.purged_at, r.rendered_to, coalesce(t.records, 0), coalesce(t.pupils, 0)
  from roster r left join roster_version v on v.estab = r.estab and v.version = r.version
    left join (select estab, sum(count)::int as records, coalesce(sum(count) filter (where collection = 'users' and kind = 'student'), 0)::int as pupils
      from roster_total where status = 'active' group by estab) t on t.estab = r.estab
  on conflict (estab) do update set roster_id = excluded.roster_id, version = excluded.version, kept_from = excluded.kept_from,
    instant = excluded.instant, purged_at = excluded.purged_at, rendered_to = excluded.rendered_to, records = excluded.records, pupils = excluded.pupils
  where roster_standing.version <= excluded.version
    and (roster_standing.roster_id, roster_standing.version, roster_standing.kept_from, roster_standing.instant, roster_standing.purged_at,
      roster_standing.rendered_to, roster_standing.records, roster_standing.pupils) is distinct from (excluded.roster_id, excluded.version,
      excluded.kept_from, excluded.instant, excluded.purged_at, excluded.rendered_to, excluded.records, excluded.pupils);
