create view named_events as
select events.*, source.name as u_name, target.name as v_name
from dataset_events events
join dataset_nodes source on source.dataset = events.dataset and source.node = events.u
join dataset_nodes target on target.dataset = events.dataset and target.node = events.v;
