package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// spaces are all that separates the tags in a column, beside the blank, as in [strings.Fields].
const spaces = "\t\n\v\f\r\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// keepTags keeps rollcall_check_tags equal to the column tags of rollcall_checks. SQLite splits that as a JSON array. On PostgreSQL, one
// condition for all tags would let the planner read all tags of the project for each check, so each tag has its own.
var keepTags = statement{
	sqlite: splitting(splitSQLite, `CREATE TRIGGER rollcall_check_tags_insert AFTER INSERT ON rollcall_checks BEGIN
	INSERT OR IGNORE INTO rollcall_check_tags SELECT NEW.project_id, t.value, NEW.id
		FROM {NEW.tags} AS t WHERE t.value <> ''
; END;
CREATE TRIGGER rollcall_check_tags_delete AFTER DELETE ON rollcall_checks BEGIN
	DELETE FROM rollcall_check_tags WHERE project_id = OLD.project_id AND check_id = OLD.id
		AND tag IN (SELECT t.value FROM {OLD.tags} AS t)
; END;
CREATE TRIGGER rollcall_check_tags_update AFTER UPDATE OF project_id, tags ON rollcall_checks BEGIN
	DELETE FROM rollcall_check_tags WHERE project_id = OLD.project_id AND check_id = OLD.id
		AND tag IN (SELECT t.value FROM {OLD.tags} AS t)
; INSERT OR IGNORE INTO rollcall_check_tags SELECT NEW.project_id, t.value, NEW.id
		FROM {NEW.tags} AS t WHERE t.value <> ''
; END`),
	postgres: splitting(splitPostgres, `CREATE FUNCTION rollcall_keep_tags() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE former TEXT
; BEGIN
	IF TG_OP <> 'INSERT' THEN
		FOREACH former IN ARRAY {OLD.tags} LOOP
			DELETE FROM rollcall_check_tags WHERE project_id = OLD.project_id AND check_id = OLD.id AND tag = former
		; END LOOP
	; END IF
	; IF TG_OP <> 'DELETE' THEN
		INSERT INTO rollcall_check_tags SELECT NEW.project_id, t.tag, NEW.id
			FROM unnest({NEW.tags}) AS t (tag) WHERE t.tag <> '' ON CONFLICT DO NOTHING
	; END IF
	; RETURN NULL
; END $$;
CREATE TRIGGER rollcall_check_tags AFTER INSERT OR DELETE OR UPDATE OF project_id, tags ON rollcall_checks
	FOR EACH ROW EXECUTE FUNCTION rollcall_keep_tags()`),
}

// splitSQLite returns a table of the tags in a column on SQLite.
func splitSQLite(column string) string {
	from := ""
	for i, space := range []rune(spaces) {
		if i == utf8.RuneCountInString(spaces)/2 { // one in another, all would overflow the stack of older parsers
			from, column = " FROM (SELECT "+column+" AS tags)", "tags"
		}
		column = fmt.Sprintf("replace(%s, char(%d), ' ')", column, space)
	}
	return `json_each((SELECT '[' || replace(json_quote(` + column + `), ' ', '","') || ']'` + from + `))`
}

// splitPostgres returns an array of the tags in a column on PostgreSQL.
func splitPostgres(column string) string {
	blanks := strings.Repeat(" ", utf8.RuneCountInString(spaces))
	return "string_to_array(translate(" + column + ", '" + spaces + "', '" + blanks + "'), ' ')"
}

// splitting replaces the columns in braces by what splits them.
func splitting(split func(column string) string, text string) string {
	return strings.NewReplacer("{NEW.tags}", split("NEW.tags"), "{OLD.tags}", split("OLD.tags")).Replace(text)
}

const (
	// maxTagConditions bounds how many tags the database compares.
	maxTagConditions = 5
	// maxTagCount is how far it counts the checks with a tag, to begin with the tag that the fewest have.
	maxTagCount = 1000
)

// storable reports whether columns can have a text. Databases refuse others, also in a comparison.
func storable(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// tagged returns a condition on a check AS c: it is of a project and has tags. Beyond maxTagConditions the caller compares the
// tags.
func (s *database) tagged(project uuid.UUID, tags ...string) string {
	of := "c.project_id = ?"
	if len(tags) > 0 && !s.d.postgres {
		of = "+" + of // SQLite would read all checks of the project by an index
	}
	out := s.format(of, project)
	for i, tag := range tags {
		if !storable(tag) {
			return "FALSE"
		}
		if i < maxTagConditions {
			out += s.format(" AND c.id IN (SELECT check_id FROM rollcall_check_tags WHERE project_id = ? AND tag = ?)", project, tag)
		}
	}
	return out
}

// rareTags returns those of tags that few checks have. SQLite finds only these faster by the index; PostgreSQL decides that itself.
func (s *database) rareTags(ctx context.Context, project uuid.UUID, tags []string) (rare []string, err error) {
	if s.d.postgres {
		return tags, nil
	}
	for _, tag := range tags {
		few := !storable(tag)
		if !few {
			if few, err = s.isFew(ctx, "rollcall_check_tags WHERE project_id = ? AND tag = ?", project, tag); err != nil {
				return nil, err
			}
		}
		if few {
			rare = append(rare, tag)
		}
	}
	return rare, nil
}

// selectTagged returns the keys of the checks of a project that have tags. Beyond maxTagConditions the caller compares the tags.
func (s *database) selectTagged(ctx context.Context, project uuid.UUID, tags []string) (keys []int64, err error) {
	if slices.ContainsFunc(tags, func(tag string) bool { return !storable(tag) }) {
		return nil, nil
	}
	tags = slices.Clone(tags[:min(len(tags), maxTagConditions)])
	with := func(tag string) *bun.SelectQuery {
		return s.db.NewSelect().TableExpr("rollcall_check_tags AS g").Column("g.check_id").Where("g.project_id = ? AND g.tag = ?", project, tag).
			OrderExpr("g.check_id")
	}
	if len(tags) > 1 {
		counts := make(map[string]int, len(tags))
		for _, tag := range tags {
			var n int
			err := s.db.NewSelect().TableExpr("(?) AS few", with(tag).Limit(maxTagCount)).ColumnExpr("count(*)").Scan(ctx, &n)
			if err != nil || n == 0 {
				return nil, s.translate(err)
			}
			counts[tag] = n
		}
		slices.SortFunc(tags, func(a, b string) int { return counts[a] - counts[b] })
	}
	query := with(tags[0])
	for _, tag := range tags[1:] {
		query.Where("EXISTS (SELECT 1 FROM rollcall_check_tags AS o WHERE o.project_id = g.project_id AND o.tag = ? AND o.check_id = g.check_id)", tag)
	}
	rows, err := query.Rows(ctx)
	var key int64
	keys, err = scanList(rows, err, &key, &key)
	return keys, s.translate(err)
}

// Tags returns the tags of a project's checks, sorted. It skips from one tag to the next.
func (s *database) Tags(ctx context.Context, projectID uuid.UUID) (tags []string, err error) {
	err = s.db.NewRaw(`WITH RECURSIVE found (tag) AS (
			SELECT min(tag) FROM rollcall_check_tags WHERE project_id = ?0
			UNION ALL
			SELECT (SELECT min(o.tag) FROM rollcall_check_tags AS o WHERE o.project_id = ?0 AND o.tag > found.tag) FROM found WHERE found.tag IS NOT NULL
		) SELECT tag FROM found WHERE tag IS NOT NULL`, projectID).Scan(ctx, &tags)
	slices.Sort(tags)
	return tags, s.translate(err)
}
