-- The sources of settings that must not be printed: a JSON object by the name of the setting, or '' for none.
ALTER TABLE rollcall_channels ADD COLUMN sources TEXT NOT NULL DEFAULT '';
