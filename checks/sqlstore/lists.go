package sqlstore

import "github.com/rollcall-dev/rollcall/checks"

// listed are the columns of rollcall_checks that follow from the state. They change with the status, so that most pings leave
// them and their indexes alone.
type listed struct{ status, statusAt, slowAt int64 }

// unknown stands for the columns of a row that was not read: the next save then compares them. They differ if a server of a
// version before them has written the check.
var unknown = listed{-1, -1, -1}

// listedOf returns the columns of a state that had others before. A success without a duration leaves a slow run the last whose
// duration is known.
func listedOf(s *checks.State, before listed) listed {
	l := listed{code(statuses[:], s.Stored), micros(s.StoredSince), 0}
	if took := s.History.LastSuccessDuration; took >= checks.SlowFrom || took == 0 && before.slowAt != 0 {
		if run, _, slow := s.History.Slow(); slow {
			l.slowAt = micros(run.At)
		}
	}
	return l
}

// updateListed writes only rows that differ.
var updateListed = statement{
	sqlite: `UPDATE rollcall_checks SET status = ?1, status_at = ?2, slow_at = ?3, sort_name = ?4, search = ?5 WHERE id = ?6
		AND (status, status_at, slow_at, sort_name, search) <> (?1, ?2, ?3, ?4, ?5)`,
	postgres: `UPDATE rollcall_checks AS c
		SET status = v.status, status_at = v.status_at, slow_at = v.slow_at, sort_name = v.sort_name, search = v.search
		FROM (SELECT unnest($1::smallint[]) AS status, unnest($2::bigint[]) AS status_at, unnest($3::bigint[]) AS slow_at,
			unnest($4::text[]) AS sort_name, unnest($5::text[]) AS search, unnest($6::bigint[]) AS id) AS v
		WHERE c.id = v.id AND c.id = ANY ($6::bigint[])
			AND (c.status, c.status_at, c.slow_at, c.sort_name, c.search) <> (v.status, v.status_at, v.slow_at, v.sort_name, v.search)`,
}
