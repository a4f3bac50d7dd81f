package wrap

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// account is a user of the machine.
type account struct {
	name   string
	uid    int
	groups []int // the primary one first
	home   string
}

// accounts are the users and groups of a machine, from its passwd and group files.
type accounts struct {
	users   map[string]account
	primary map[int][]int // the users whose primary group it is
	members map[int][]int // the other users of a group
}

// readAccounts reads the files below a root. What is missing or wrong in them is left out.
func readAccounts(root string) accounts {
	a := accounts{map[string]account{}, map[int][]int{}, map[int][]int{}}
	for _, f := range fields(filepath.Join(root, "/etc/passwd"), 7) {
		uid, err := strconv.Atoi(f[2])
		gid, errGroup := strconv.Atoi(f[3])
		if _, known := a.users[f[0]]; err != nil || errGroup != nil || known {
			continue
		}
		a.users[f[0]] = account{f[0], uid, []int{gid}, filepath.Join("/", f[5])}
		a.primary[gid] = append(a.primary[gid], uid)
	}
	for _, f := range fields(filepath.Join(root, "/etc/group"), 4) {
		gid, err := strconv.Atoi(f[2])
		if err != nil {
			continue
		}
		for name := range strings.SplitSeq(f[3], ",") {
			if user, ok := a.users[name]; ok {
				user.groups = append(user.groups, gid)
				a.users[name] = user
				a.members[gid] = append(a.members[gid], user.uid)
			}
		}
	}
	return a
}

// fields returns the lines of a file that have a number of fields.
func fields(path string, n int) (list [][]string) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		if f := strings.Split(strings.TrimRight(line, "\r\n"), ":"); len(f) == n {
			list = append(list, f)
		}
	}
	return list
}

// others reports whether somebody else than root and one user is in a group, or whether nobody knows.
func (a accounts) others(gid, uid int) bool {
	return gid != 0 && slices.ContainsFunc(append(a.primary[gid], a.members[gid]...), func(member int) bool { return member != 0 && member != uid })
}
