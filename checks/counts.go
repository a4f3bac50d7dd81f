package checks

// Counts says how many checks have each status.
type Counts map[Status]int

// Total returns the number of checks of any status.
func (c Counts) Total() (n int) {
	for _, of := range c {
		n += of
	}
	return n
}

// add adds the checks of other counts.
func (c Counts) add(other Counts) {
	for status, n := range other {
		c[status] += n
	}
}

// TagSet says how many checks have the same tags.
type TagSet struct {
	// Tags are all tags of each of the checks, each once.
	Tags []string
	Counts
}

// CountAll returns the counts of all sets together.
func CountAll(sets []TagSet) Counts {
	all := make(Counts)
	for _, set := range sets {
		all.add(set.Counts)
	}
	return all
}

// CountByTag returns the counts of each tag. A check counts for each of its tags.
func CountByTag(sets []TagSet) map[string]Counts {
	byTag := make(map[string]Counts)
	for _, set := range sets {
		for _, tag := range set.Tags {
			if byTag[tag] == nil {
				byTag[tag] = make(Counts)
			}
			byTag[tag].add(set.Counts)
		}
	}
	return byTag
}
