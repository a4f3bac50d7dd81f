package main

import "slices"

// failures are answers of every operation that needs a key.
var failures = []struct{ status, response string }{
	{"401", "Unauthorized"}, {"413", "TooLarge"}, {"429", "TooManyRequests"}, {"500", "InternalError"}, {"503", "Unavailable"},
}

// addFailures adds the failures to the operations that need a key, unless the file has another answer with the status. TooLarge is only for
// operations with a body.
func addFailures(document value) {
	for _, path := range document.Get("paths").Entries() {
		for _, operation := range path.Value.Entries() {
			if len(operation.Value.Get("security").Items()) == 0 {
				continue
			}
			answers, hasBody := operation.Value.Get("responses"), operation.Value.Get("requestBody").Found()
			for _, f := range failures {
				if answers.Get(f.status).Found() || f.status == "413" && !hasBody {
					continue
				}
				next := slices.IndexFunc(append(answers.Entries(), entry{Key: "600"}), func(e entry) bool { return e.Key > f.status })
				added := mapping(f.status, mapping("$ref", "#/components/responses/"+f.response))
				answers.node.Content = slices.Insert(answers.node.Content, 2*next, added.Content...)
			}
		}
	}
}
