package verify

import (
	"fmt"
	"time"

	"airgap.dev/airgap/verify/nodereport"
)

// maxBehind is how many seconds the cache of an API server may be behind etcd: four
// renewals of the Lease that measures it.
const maxBehind = 40

// apiServers reads the report of each host about its own API server: behind a load balancer,
// verify does not reach a server that has failed.
func apiServers() rule {
	return rule{
		id: "api-servers", title: "Every API server is ready, and its cache is up to date", watches: []kind{nodeReports, nodes}, every: time.Second, judge: judgeAPIServers,
		expects: func(v view) expectation { return v.expectPartOf(ofControlPlane, apiServerPart()) },
	}
}

func apiServerPart() part {
	return part{name: "apiServer", in: func(r nodereport.Report) bool { return r.APIServer != nil }, newer: true}
}

func judgeAPIServers(v view) []Finding {
	var findings []Finding
	for _, r := range v.reportsWith(apiServerPart()) {
		a := r.report.APIServer
		f := Finding{Object: "API server on " + r.name}
		switch {
		case a.Error != "":
			f.Saw, f.Want = a.Error, "ready"
			f.Fix = "on " + r.name + ": crictl ps -a --name kube-apiserver; crictl logs CONTAINER; curl -k 'https://ADDRESS:6443/readyz?verbose' (ADDRESS is the host's own address)"
		case a.Behind > maxBehind:
			f.Saw, f.Want = fmt.Sprintf("its cache is %d seconds behind etcd", a.Behind), fmt.Sprintf("at most %d seconds", maxBehind)
			f.Fix = "on " + r.name + ": crictl ps --name kube-apiserver; read in its log why it does not follow etcd: crictl logs CONTAINER; restart it: crictl stop CONTAINER (the kubelet starts it again)"
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}
