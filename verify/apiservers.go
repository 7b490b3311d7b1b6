package verify

import (
	"fmt"
	"time"

	"airgap.dev/airgap/verify/nodereport"
)

// behindAtMost is by how many seconds an API server's cache may be older than etcd: four renewals
// of the lease by which that is measured.
const behindAtMost = 40

// apiServers judges each API server by what its own host reports: behind a balancer one of
// several may be cut off, and whoever asks the balancer is sent to another one.
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
			f.Fix = "on " + r.name + ": crictl ps -a --name kube-apiserver; crictl logs of it; curl -k 'https://ADDRESS:6443/readyz?verbose', with the host's own address"
		case a.Behind > behindAtMost:
			f.Saw, f.Want = fmt.Sprintf("its cache is %d seconds behind etcd", a.Behind), fmt.Sprintf("%d at most", behindAtMost)
			f.Fix = "on " + r.name + ": crictl logs of kube-apiserver says why it does not follow etcd; crictl stop ends it, and the kubelet starts it again"
		default:
			continue
		}
		findings = append(findings, f)
	}
	return findings
}
