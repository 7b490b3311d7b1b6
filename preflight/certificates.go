package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/preflight/facts"
)

var certFail = Limit{
	Check: "cert-expiry", Name: "fail", Unit: Elapsed, Default: always(int64(7 * 24 * time.Hour)),
	About: "Least time until the cluster's certificates on this host expire. Default 168h, a week.",
}

var certWarn = Limit{
	Check: "cert-expiry", Name: "warn", Unit: Elapsed, Default: always(int64(60 * 24 * time.Hour)),
	About: "Time until the cluster's certificates expire below which the check warns. Default 1440h, sixty days.",
}

var certExpiry = Check{
	ID: "cert-expiry", Title: "Cluster certificates do not expire soon", Source: "kubeadm: certificates expire after a year unless an upgrade renews them",
	Breaks: "When a certificate expires, clients no longer trust the API server, etcd or the kubelet.",
	Limits: []Limit{certFail, certWarn}, Needs: []string{"certificates", "now"}, Run: judgeCertificates,
}

func judgeCertificates(f *facts.Facts, w *Want) Result {
	if !w.Managed || len(f.Certificates) == 0 {
		return skipped("airgap has not installed a cluster on this host yet")
	}
	now, enough := f.Time.Now, time.Duration(w.limit(certWarn))
	first := slices.MinFunc(f.Certificates, func(a, b facts.Certificate) int { return cmp.Compare(a.Span().Left(now), b.Span().Left(now)) })
	var fixes []string
	for _, c := range f.Certificates {
		if fix := c.Renewal(); c.Span().Trouble(now, enough) != "" && !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
	}
	found := fmt.Sprintf("%s expires on %s", first.Path, first.NotAfter.Format(time.DateOnly))
	if first.Span().Early(now) {
		found = first.Path + " " + first.Span().Trouble(now, 0)
	}
	if len(fixes) == 0 {
		return pass("%s, the first of %d certificates", found, len(f.Certificates))
	}
	status := Warn
	if first.Span().Left(now) < time.Duration(w.limit(certFail)) {
		status = Fail
	}
	return Result{status, found, elapsed(time.Duration(w.limit(certWarn))) + " or more", strings.Join(fixes, "; ")}
}
