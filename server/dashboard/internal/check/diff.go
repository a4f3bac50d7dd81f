package check

import (
	"regexp"
	"strings"
)

// diffLine is a line of an output that is compared with an earlier one.
type diffLine struct {
	Text string
	// Added says that the earlier output does not have the line there, and Gone that only that one has it.
	Added, Gone bool
	// Same is how many lines of both outputs are left out here. Such an entry has no text.
	Same int
}

// around is how many lines beside one that differs are shown.
const around = 3

// fold leaves out lines that both outputs have and that are far from any that differs.
func fold(lines []diffLine) (shown []diffLine) {
	for i, l := range lines {
		near := false
		for _, other := range lines[max(0, i-around):min(len(lines), i+around+1)] {
			near = near || other.Added || other.Gone
		}
		switch n := len(shown); {
		case near:
			shown = append(shown, l)
		case n > 0 && shown[n-1].Same > 0:
			shown[n-1].Same++
		default:
			shown = append(shown, diffLine{Same: 1})
		}
	}
	return shown
}

// moments matches what differs between any two runs: dates, times and durations.
var moments = regexp.MustCompile(`\d{4}[-/.]\d\d[-/.]\d\d|\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?|\b\d+(?:[.,]\d+)?\s?m?s\b`)

// diff returns the lines of an output and, where they are missing, those of an earlier one: those that are not in a longest common
// subsequence of both are marked. Times do not count. Its time grows with the product of the lengths, so callers bound them.
func diff(earlier, now []string) (lines []diffLine) {
	a, b := earlier, now
	keys := func(lines []string) []string {
		list := make([]string, len(lines))
		for i, line := range lines {
			list[i] = strings.Join(strings.Fields(moments.ReplaceAllString(line, "0")), " ")
		}
		return list
	}
	left, right := keys(a), keys(b)
	common := make([][]int, len(a)+1) // the length of the longest common subsequence of the rest
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if left[i] == right[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && left[i] == right[j]:
			lines = append(lines, diffLine{Text: output(b[j])})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{Text: output(a[i]), Gone: true})
			i++
		default:
			lines = append(lines, diffLine{Text: output(b[j]), Added: true})
			j++
		}
	}
	return lines
}
