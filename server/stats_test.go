package server_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestStats reads the daily statistics of a check, by its UUID and by its unique_key.
func TestStats(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"timeout": 86400, "grace": 3600})
		s.ping(check, "/start")
		s.clock.Advance(41500 * time.Millisecond)
		s.ping(check, "")
		s.clock.Advance(11*time.Hour - 41750*time.Millisecond)
		s.ping(check, "/fail") // 23:00
		s.clock.Advance(3 * time.Hour)
		first := object{
			"date": "2026-03-15", "runs": 2.0, "failures": 1.0, "up": 39558.25, "down": 3600.0, "unwatched": 43241.75, "maintenance": 0.0,
			"availability": 39558.25 / 43158.25, "durations": object{"count": 1.0, "sum": 41.5, "min": 41.5, "max": 41.5},
		}
		second := object{
			"date": "2026-03-16", "runs": 0.0, "failures": 0.0, "up": 0.0, "down": 7200.0, "unwatched": 0.0, "maintenance": 0.0, "availability": 0.0, "durations": nil,
		}
		total := object{
			"runs": 2.0, "failures": 1.0, "up": 39558.25, "down": 10800.0, "unwatched": 43241.75, "maintenance": 0.0, "availability": 39558.25 / 50358.25,
			"durations": first["durations"],
		}
		none := object{"runs": 0.0, "failures": 0.0, "up": 0.0, "down": 0.0, "unwatched": 0.0, "maintenance": 0.0, "availability": nil, "durations": nil}
		key := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"].(string)
		read := func(query string) object {
			s.Helper()
			got := s.api("GET", path(check)+"/stats/"+query, nil).object(200)
			s.equal(query+" by unique_key", s.send("GET", "/api/v3/checks/"+key+"/stats/"+query, nil, "X-Api-Key", s.keys.ReadOnly).object(200), got)
			return got
		}
		s.equal("default", read(""), object{"start": "2026-02-15", "end": "2026-03-16", "total": total, "days": []any{first, second}})
		s.equal("month", read("?start=2026-03&end=2026-03"), object{"start": "2026-03-01", "end": "2026-03-31", "total": total, "days": []any{first, second}})
		s.equal("one day", read("?start=2026-03-16&end=2026-03-16")["days"], []any{second})
		s.equal("before", read("?end=2024-02"), object{"start": "2024-01-31", "end": "2024-02-29", "total": none, "days": []any{}})
		s.equal("after", read("?start=2027-01-01&end=2027-12-31")["days"], []any{})
		for query, text := range map[string]string{
			"?start=":                            "start is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?end=x":                             "end is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=2026-02-29":                  "start is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=2026-13":                     "start is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=1772323200":                  "start is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?end=" + url.QueryEscape("2026-٠٣"): "end is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=2026-03-17":                  "start is after end",
			"?start=2025-03-15&end=2026-03-16":   "start is too long before end: the maximum is 366 days",
			"?end=0000-01-01":                    "end is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=0000-12&end=0001-01":         "start is neither a day such as 2026-10-31 nor a month such as 2026-10",
			"?start=0001-01-01&end=9999-12-31":   "start is too long before end: the maximum is 366 days",
		} {
			field, _, _ := strings.Cut(text, " ")
			s.api("GET", path(check)+"/stats/"+query, nil).refusedField(field, text)
		}
		s.api("GET", path(check)+"/stats/?start=%zz", nil).refused(400, "the query is not properly escaped")
		read("?start=2025-03-16&end=2026-03-16")
		s.equal("start", fields(read("?end=0001-01-05"), "start", "end"), []any{"0001-01-01", "0001-01-05"}) // no date is earlier
		s.equal("end", fields(read("?start=9999-12&end=9999-12"), "start", "end"), []any{"9999-12-01", "9999-12-31"})
	})
}
