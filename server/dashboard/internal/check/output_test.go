package check

import "testing"

func TestOutput(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain <b>&", "plain <b>&"}, // the template escapes it
		{"\x1b[31mred\x1b[0m rest", "red rest"},
		{"\x1b[38;2;0;200;0mx", "x"},
		{"\x1b]0;title\x07after", "after"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b[2J\x1b[1;1Hcleared", "cleared"},
		{"10%\r20%\r\ndone", "10%\n20%\ndone"},
		{"nul\x00 bell\x07", "nul␀ bell␇"},
		{"\u202eevil", "\ufffdevil"},
		{"\xff", "\ufffd"},
		{"\x1b[31\nx", "31\nx"}, {"\x1b", "␛"},
	} {
		if got := output(test.in); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}
