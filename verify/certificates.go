package verify

import (
	"strings"
	"time"

	"airgap.dev/airgap/internal/validity"
	"airgap.dev/airgap/verify/nodereport"
)

// endsSoon is when an administrator should act on a certificate: the kubelet
// renews its own with a third of its time left, and airgap the others with 60 days left.
const endsSoon = 30 * 24 * time.Hour

func certificates() rule {
	return rule{
		id: "certificates", title: "Every certificate is valid, and for 30 days at least", watches: []kind{nodeReports, nodes}, every: time.Second,
		expects: func(v view) expectation {
			return v.expectPart(part{name: "certificates", in: func(r nodereport.Report) bool { return len(r.Certificates) > 0 }})
		},
		judge: func(v view) []Finding {
			var findings []Finding
			for _, r := range v.freshReports() {
				for _, c := range r.report.Certificates {
					if saw := spanOf(c).Trouble(v.now, endsSoon); saw != "" {
						findings = append(findings, Finding{
							Object: "Node " + r.name + ", " + c.File, Saw: saw, Want: "valid now, and for 30 days at least",
							Fix: "on " + r.name + ": " + fixOf(c, v.now),
						})
					}
				}
			}
			return findings
		},
	}
}

func spanOf(c nodereport.Certificate) validity.Span {
	s := validity.Span{Ends: c.Ends.Time}
	if c.Begins != nil {
		s.Begins = c.Begins.Time
	}
	return s
}

// fixOf asks for the clock first, where that may be what is wrong.
func fixOf(c nodereport.Certificate, now time.Time) string {
	if spanOf(c).Early(now) {
		return "chronyc tracking says whether its clock is right; if it is, " + renewal(c.File)
	}
	return renewal(c.File)
}

// renewal is what renews the certificate in a file.
func renewal(file string) string {
	switch nodereport.RenewerOf(file) {
	case nodereport.RenewedByNobody:
		return "this is an authority: airgap certs rotate-ca --help says which ones it replaces"
	case nodereport.RenewedByKubelet:
		return "the kubelet renews it itself, and has not: journalctl -u kubelet | grep -i certificate"
	}
	if strings.HasPrefix(file, "/etc/airgap/pki/") {
		return "airgap certs renew; systemctl status airgap-registry-renew.timer, which had to renew it"
	}
	return "airgap certs renew; systemctl status airgap-certs-renew.timer, which had to renew it"
}
