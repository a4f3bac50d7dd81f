package runs_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/runs"
)

func ExampleList() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	run := uuid.NullUUID{UUID: uuid.MustParse("6f5dd2d1-8a4c-4a52-9d5f-0d9e2f1c7b3a"), Valid: true}

	var list runs.List
	list = list.Start(run, noon, true)
	list, took, ok := list.End(run, noon.Add(90*time.Second))
	fmt.Println(took, ok, len(list))
	// Output: 1m30s true 0
}
