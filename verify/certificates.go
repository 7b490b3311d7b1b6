package verify

import (
	"strings"
	"time"

	"airgap.dev/airgap/internal/validity"
	"airgap.dev/airgap/verify/nodereport"
)

// expiresSoon is the remaining time at which an administrator should act. The kubelet renews its
// own certificate in the last third of its lifetime, and airgap the others in the last 60 days.
const expiresSoon = 30 * 24 * time.Hour

func certificates() rule {
	return rule{
		id: "certificates", title: "Certificates are valid for at least 30 more days", watches: []kind{nodeReports, nodes}, every: time.Second,
		expects: func(v view) expectation {
			return v.expectPart(part{name: "certificates", in: func(r nodereport.Report) bool { return len(r.Certificates) > 0 }})
		},
		judge: func(v view) []Finding {
			var findings []Finding
			for _, r := range v.freshReports() {
				for _, c := range r.report.Certificates {
					if saw := spanOf(c).Trouble(v.now, expiresSoon); saw != "" {
						findings = append(findings, Finding{
							Object: "Node " + r.name + ", " + c.File, Saw: saw, Want: "valid now and for at least 30 more days",
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

// fixOf checks the clock first if a wrong clock may be the cause.
func fixOf(c nodereport.Certificate, now time.Time) string {
	if spanOf(c).Early(now) {
		return "check the clock: chronyc tracking; if it is right: " + renewal(c.File)
	}
	return renewal(c.File)
}

// renewal returns how to renew the certificate in a file.
func renewal(file string) string {
	switch nodereport.RenewerOf(file) {
	case nodereport.NotRenewed:
		return "this is a CA certificate; airgap certs rotate-ca --help lists the CAs that it rotates"
	case nodereport.RenewedByKubelet:
		return "the kubelet renews this certificate and did not; find the cause: journalctl -u kubelet | grep -i certificate"
	}
	if strings.HasPrefix(file, "/etc/airgap/pki/") {
		return "airgap certs renew; find out why the timer did not renew it: systemctl status airgap-registry-renew.timer"
	}
	return "airgap certs renew; find out why the timer did not renew it: systemctl status airgap-certs-renew.timer"
}
