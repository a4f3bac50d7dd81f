package badges_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/badges"
)

func TestSummarize(t *testing.T) {
	tests := []struct {
		name       string
		statuses   []string
		want       badges.Summary
		two, three badges.State
	}{
		{"no checks", nil, badges.Summary{}, badges.Up, badges.Up},
		{"new", []string{"new"}, badges.Summary{Total: 1}, badges.Up, badges.Up},
		{"up", []string{"up"}, badges.Summary{Total: 1}, badges.Up, badges.Up},
		{"grace", []string{"grace"}, badges.Summary{Total: 1, Grace: 1}, badges.Up, badges.Late},
		{"down", []string{"down"}, badges.Summary{Total: 1, Down: 1}, badges.Down, badges.Down},
		{"paused", []string{"paused"}, badges.Summary{Total: 1}, badges.Up, badges.Up},
		{"grace among others", []string{"up", "grace", "new", "grace", "paused"}, badges.Summary{Total: 5, Grace: 2}, badges.Up, badges.Late},
		{"down wins", []string{"down", "grace", "up"}, badges.Summary{Total: 3, Grace: 1, Down: 1}, badges.Down, badges.Down},
		{"down wins at the end", []string{"up", "grace", "down"}, badges.Summary{Total: 3, Grace: 1, Down: 1}, badges.Down, badges.Down},
		{"unknown words", []string{"late", "DOWN", ""}, badges.Summary{Total: 3}, badges.Up, badges.Up},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := badges.Summarize(slices.Values(tt.statuses))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]badges.State{tt.two, tt.three}, []badges.State{got.State(false), got.State(true)}); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

func ExampleSummarize() {
	sum := badges.Summarize(slices.Values([]string{"up", "grace", "paused"}))
	fmt.Printf("%+v\n", sum)
	fmt.Println("two states:", sum.State(false))
	fmt.Println("three states:", sum.State(true))
	// Output:
	// {Total:3 Grace:1 Down:0}
	// two states: up
	// three states: late
}
