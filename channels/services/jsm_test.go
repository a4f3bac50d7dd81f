package services_test

func jsmSample() sample {
	s := opsgenieSample()
	s.want[0].URL = "https://api.atlassian.com/jsm/ops/integration/v2/alerts"
	return s
}

func newJSMReceiver(failer) incidentServer {
	return genieReceiver{keys{}, "https://api.atlassian.com/jsm/ops/integration/v2/alerts"}
}
