package job_test

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/checks/job"
)

func ExampleTail() {
	tail := job.NewTail(10)
	fmt.Fprint(tail, "copied 1 file\n")
	fmt.Fprint(tail, "disk full\n")
	fmt.Printf("%s", tail.Bytes())
	// Output: disk full
}

func ExampleSlug() {
	fmt.Println(job.Slug("Nightly backup (DB)"))
	fmt.Println(job.Slug("reports.MonthlyInvoices"))
	// Output:
	// nightly-backup-db
	// reports-monthlyinvoices
}
