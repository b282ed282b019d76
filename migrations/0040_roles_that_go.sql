-- Of whoever would stay, the roles that would go; null where the record itself would.
alter table import_loss add column loses text[];
