-- The trigger of rollcall_check_tags finds each tag by the whole key; see tags.go.
{KEEP_TAG_BY_TAG}
