package sqlstore

import (
	"encoding/json"
	"fmt"

	"github.com/rollcall-dev/rollcall/checks"
)

// stateVersion is the version of storedState. A higher one is refused: writing the state again would lose what this
// version does not know.
const stateVersion = 1

// storedState is the JSON in rollcall_states.state. It is valid if Revision is that of the row. Otherwise a server of the
// version before has written the row since, and the columns of previousState are valid.
type storedState struct {
	Version  int   `json:"version"`
	Revision int64 `json:"revision"`
	*checks.State
}

// state returns the state of a row.
func (r *checkRow) state() (checks.State, error) {
	if len(r.stored) == 0 {
		return r.previous.state()
	}
	s := storedState{State: new(checks.State)}
	switch err := json.Unmarshal(r.stored, &s); {
	case s.Revision != r.revision:
		return r.previous.state()
	case s.Version > stateVersion:
		return checks.State{}, fmt.Errorf("sqlstore: the state of a check has version %d, and this version of Rollcall reads up to %d: upgrade it",
			s.Version, stateVersion)
	case err != nil:
		return checks.State{}, fmt.Errorf("sqlstore: the state of a check: %w", err)
	}
	return *s.State, nil
}
