package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// staleAfter is three heartbeats of a NodeReport.
const staleAfter = 3 * time.Minute

func reportsFresh() rule {
	return rule{
		id: "node-reports", title: "Every host reports what only it knows", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: judgeReports, expects: func(v view) expectation { return v.expectPart(part{}) },
	}
}

func judgeReports(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		if saw := reportTrouble(v, node.Name); saw != "" {
			findings = append(findings, Finding{
				Object: "NodeReport " + node.Name, Saw: saw, Want: "a whole one, each minute",
				Fix: "on " + node.Name + ": systemctl status airgap-node-report; journalctl -u airgap-node-report",
			})
		}
	}
	return findings
}

func reportTrouble(v view, node string) string {
	r := get[*keptReport](v, nodeReports, "", node)
	if r == nil {
		return "it does not exist"
	}
	if silent, _ := v.silence(reportOf(node), r.report.Heartbeat.Time); silent > staleAfter {
		return "nothing new since " + v.now.Add(-silent).UTC().Format(time.RFC3339)
	}
	var parts []string
	for _, u := range r.report.Unknown {
		parts = append(parts, fmt.Sprintf("%s could not be looked at (%s)", u.Part, u.Reason))
	}
	return strings.Join(parts, "; ")
}

// reported is a rule about one part of what each host reports of itself. judge gets the
// reports that are fresh and have it.
func reported(id, title string, of part, judge func(host string, r nodereport.Report) []Finding) rule {
	return rule{
		id: id, title: title, watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: func(v view) []Finding {
			var findings []Finding
			for _, r := range v.reportsWith(of) {
				findings = append(findings, judge(r.name, r.report)...)
			}
			return findings
		},
		expects: func(v view) expectation { return v.expectPart(of) },
	}
}

func unitsRun() rule {
	return reported("units", "Runtime and kubelet run as units of systemd", part{name: "units", in: func(r nodereport.Report) bool { return len(r.Units) > 0 }}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, u := range r.Units {
			if u.State != "active" {
				findings = append(findings, Finding{
					Object: "Node " + host + ", " + u.Name, Saw: u.State, Want: "active",
					Fix: fmt.Sprintf("on %s: journalctl -u %s --since -15min; systemctl start %s", host, u.Name, u.Name),
				})
			}
		}
		return findings
	})
}

func cgroupsAgree() rule {
	return reported("cgroups", "Runtime and kubelet use the same cgroup driver", part{name: "cgroup", in: func(r nodereport.Report) bool { return r.Cgroup != nil }}, func(host string, r nodereport.Report) []Finding {
		saw, want := driversSeen(*r.Cgroup)
		if saw == "" {
			return nil
		}
		return []Finding{{Object: "Node " + host, Saw: saw, Want: want, Fix: "on " + host + ": " + driversFix(*r.Cgroup)}}
	})
}

// driversSeen is what is wrong, or "". Runtime and kubelet may well agree on the wrong one:
// the kubelet asks the runtime when it starts (KEP-4033). A host that does not say what it
// needs is judged by whether both are the same.
func driversSeen(c nodereport.Cgroup) (saw, want string) {
	if want = "the same"; c.Host != "" {
		want = c.Host + ", as the host needs"
	}
	switch {
	case c.Runtime != c.Kubelet:
		return fmt.Sprintf("the runtime uses %s, the kubelet %s", c.Runtime, c.Kubelet), want
	case c.Host != "" && c.Runtime != c.Host:
		return fmt.Sprintf("runtime and kubelet use %s on a host of %s (cgroup v%d)", c.Runtime, c.Host, c.Version), want
	case c.Configured != "" && c.Configured != c.Runtime:
		return fmt.Sprintf("runtime and kubelet use %s, the kubelet's file says %s", c.Runtime, c.Configured), want
	}
	return "", ""
}

// driversFix names what install puts right, and what it leaves to a person.
func driversFix(c nodereport.Cgroup) string {
	const again = "the same airgap install, or join, again"
	switch {
	case len(c.Others) > 0:
		return strings.Join(c.Others, ", ") + ", not of airgap, may have set it: " + again + ", has it overruled and restarts both; with containerd 1.7 take it out first"
	case c.Host != "" && c.Runtime == c.Host && c.Configured == c.Host: // the kubelet alone still has another
		return "systemctl restart kubelet; " + again + ", does it, too"
	}
	return again + ", puts both right"
}

func imagesPinned() rule {
	return reported("pinned-images", "Images without which a node does not come back are kept", part{name: "images", in: func(r nodereport.Report) bool { return r.Images != nil }}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		lost := func(images []string, saw, fix string) {
			if len(images) > 0 {
				findings = append(findings, Finding{
					Object: "Node " + host, Saw: result.Some(images) + saw, Want: "there, and pinned", Fix: "on " + host + ": " + fix,
				})
			}
		}
		const again = "the same airgap install, or join, again"
		lost(r.Images.Unpinned, ": not pinned, the kubelet may delete it when the disk fills up", again+", puts the runtime's configuration right; then crictl pull each")
		lost(r.Images.Missing, ": not there", "crictl pull each; with containerd 1.7 "+again+", pins it, too")
		return findings
	})
}

func packagesWhole() rule {
	return reported("packages", "Our packages are as they were installed, and locked", part{name: "packages", in: func(r nodereport.Report) bool { return r.Packages != nil }}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		if c := r.Packages.Changed; len(c) > 0 {
			findings = append(findings, Finding{
				Object: "Node " + host, Saw: "changed since: " + result.Some(c), Want: "as rpm installed them",
				Fix: "on " + host + ": rpm -qf FILE names the package; dnf --config /var/lib/airgap/dnf/dnf.conf --disablerepo='*' --enablerepo=airgap reinstall it, then restart what runs of it. One that is not installed any more: the same airgap install, or join, again",
			})
		}
		if u := r.Packages.Unlocked; len(u) > 0 {
			findings = append(findings, Finding{
				Object: "Node " + host, Saw: result.Some(u) + ": the next dnf update may change it", Want: "locked in dnf",
				Fix: "on " + host + ": run the same airgap install, or join, again",
			})
		}
		return findings
	})
}

func sysctlsStay() rule {
	return reported("sysctls", "Kernel parameters are as they were set", part{name: "sysctls"}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, s := range r.Sysctls {
			findings = append(findings, Finding{
				Object: "Node " + host + ", " + s.Key, Saw: s.Saw, Want: s.Want,
				Fix: "on " + host + ": who sets it? grep -r " + s.Key + " /etc/sysctl.d /usr/lib/sysctl.d /etc/tuned; then sysctl --system",
			})
		}
		return findings
	})
}

func registriesReached() rule {
	r := rule{id: "registry-reach", title: "Every host reaches the registries", watches: []kind{nodeReports, nodes}, every: time.Second, judge: judgeRegistries}
	r.expects = func(v view) expectation { return v.expectPart(registriesPart()) }
	return r
}

func registriesPart() part {
	return part{name: "registries", in: func(r nodereport.Report) bool { return len(r.Registries) > 0 }}
}

// judgeRegistries asks for no registry on a host that has yet to join.
func judgeRegistries(v view) []Finding {
	var findings []Finding
	for _, r := range v.reportsWith(registriesPart()) {
		for _, at := range r.report.Registries {
			if at.Error == "" || at.Node != "" && v.node(at.Node) == nil {
				continue
			}
			findings = append(findings, Finding{
				Object: "Registry " + at.Address + " from " + r.name, Saw: at.Error, Want: "an answer",
				Fix: "on " + r.name + ": curl --noproxy '*' -k https://" + at.Address + "/v2/; where it runs: airgap registry status, firewall-cmd --list-all-zones",
			})
		}
	}
	return findings
}

// sameOnAll are the hosts that say something else than what is wanted; where
// nothing is wanted, than most others. Where no most is, it is all of them.
func sameOnAll(said map[string]string, wanted string) (odd []string, want string) {
	if want = wanted; want == "" {
		want = mostSaid(said)
	}
	for host, s := range said {
		if s != want {
			odd = append(odd, host)
		}
	}
	if slices.Sort(odd); want == "" {
		want = "the same on every host"
	}
	return odd, want
}

// mostSaid is what more hosts say than anything else, or "".
func mostSaid(said map[string]string) string {
	count := map[string]int{}
	for _, s := range said {
		count[s]++
	}
	most, tie := "", false
	for s, n := range count {
		switch {
		case n > count[most]:
			most, tie = s, false
		case n == count[most]:
			tie = true
		}
	}
	if tie {
		return ""
	}
	return most
}
