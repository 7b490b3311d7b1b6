package verify

import (
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// staleAfter is three heartbeats of a NodeReport.
const staleAfter = 3 * time.Minute

func reportsFresh() rule {
	return rule{
		id: "node-reports", title: "Every host sends a complete NodeReport", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge: judgeReports, expects: func(v view) expectation { return v.expectPart(part{}) },
	}
}

func judgeReports(v view) []Finding {
	var findings []Finding
	for _, node := range v.allNodes() {
		if saw := reportTrouble(v, node.Name); saw != "" {
			findings = append(findings, Finding{
				Object: "NodeReport " + node.Name, Saw: saw, Want: "a complete NodeReport every minute",
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
	if last, _ := v.lastSent(reportOf(node), r.report.Heartbeat.Time); v.seenUntil(nodeReports).Sub(last) > staleAfter {
		return "no update since " + last.UTC().Format(time.RFC3339)
	}
	var parts []string
	for _, u := range r.report.Unknown {
		parts = append(parts, fmt.Sprintf("%s could not be checked (%s)", u.Part, u.Reason))
	}
	return strings.Join(parts, "; ")
}

// reported is a rule about one part of the NodeReports. judge gets the fresh reports that have
// the part.
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
	units := part{name: "units", in: func(r nodereport.Report) bool { return len(r.Units) > 0 }}
	return reported("units", "The units of the container runtime and the kubelet are active", units, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, u := range r.Units {
			if u.State != "active" {
				findings = append(findings, Finding{
					Object: "Node " + host + ", " + u.Name, Saw: u.State, Want: "active",
					Fix: fmt.Sprintf("on %s: journalctl -u %s --since -15min; systemctl start %s", host, u.Name, u.Name),
				})
			}
			if u.Restricted != "" {
				findings = append(findings, Finding{Object: "Node " + host + ", " + u.Name, Saw: u.Restricted, Want: "no setting that takes rights from it", Fix: "on " + host + ": " + u.Fix()})
			}
		}
		return findings
	})
}

func cgroupsAgree() rule {
	cgroup := part{name: "cgroup", in: func(r nodereport.Report) bool { return r.Cgroup != nil }}
	return reported("cgroups", "The container runtime and the kubelet use the same cgroup driver", cgroup, func(host string, r nodereport.Report) []Finding {
		saw, want := driversSeen(*r.Cgroup)
		if saw == "" {
			return nil
		}
		return []Finding{{Object: "Node " + host, Saw: saw, Want: want, Fix: "on " + host + ": " + driversFix(*r.Cgroup)}}
	})
}

// driversSeen returns the problem, or "". Runtime and kubelet may agree on the wrong driver: the
// kubelet asks the runtime at its start (KEP-4033). If a host does not report the driver that it
// requires, both must only be the same.
func driversSeen(c nodereport.Cgroup) (saw, want string) {
	if want = "the same driver"; c.Host != "" {
		want = c.Host + ", which the host requires"
	}
	switch {
	case c.Runtime != c.Kubelet:
		return fmt.Sprintf("the runtime uses %s, the kubelet uses %s", c.Runtime, c.Kubelet), want
	case c.Host != "" && c.Runtime != c.Host:
		return fmt.Sprintf("runtime and kubelet use %s, but the host requires %s (cgroup v%d)", c.Runtime, c.Host, c.Version), want
	case c.Configured != "" && c.Configured != c.Runtime:
		return fmt.Sprintf("runtime and kubelet use %s, but the kubelet's configuration file has %s", c.Runtime, c.Configured), want
	}
	return "", ""
}

// driversFix returns the fix. airgap install repairs some causes and not others.
func driversFix(c nodereport.Cgroup) string {
	const again = "run the same airgap install or airgap join again"
	switch {
	case len(c.Others) > 0:
		return strings.Join(c.Others, ", ") + ", which airgap did not write, may set it; with containerd 1.7, remove that setting first; " + again + ": it overrides the setting and restarts both"
	case c.Host != "" && c.Runtime == c.Host && c.Configured == c.Host: // only the running kubelet still uses another one
		return "systemctl restart kubelet, or " + again
	}
	return again + ": it repairs both"
}

func imagesPinned() rule {
	images := part{name: "images", in: func(r nodereport.Report) bool { return r.Images != nil }}
	return reported("pinned-images", "Images that a node needs for its start are present and pinned", images, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		lost := func(images []string, saw, fix string) {
			if len(images) > 0 {
				findings = append(findings, Finding{
					Object: "Node " + host, Saw: result.Abbreviate(images) + saw, Want: "present and pinned", Fix: "on " + host + ": " + fix,
				})
			}
		}
		const again = "run the same airgap install or airgap join again"
		lost(r.Images.Unpinned, ": not pinned, the kubelet may delete it when the disk fills up", again+": it repairs the runtime's configuration; then pull each image: crictl pull")
		lost(r.Images.Missing, ": missing", "pull each image: crictl pull; with containerd 1.7, "+again+" to pin it")
		return findings
	})
}

func packagesUnchanged() rule {
	packages := part{name: "packages", in: func(r nodereport.Report) bool { return r.Packages != nil }}
	return reported("packages", "airgap's packages are unchanged and locked", packages, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		if c := r.Packages.Changed; len(c) > 0 {
			findings = append(findings, Finding{
				Object: "Node " + host, Saw: "changed since the installation: " + result.Abbreviate(c), Want: "as rpm installed them",
				Fix: "on " + host + ": find the package: rpm -qf FILE; reinstall it: dnf --config /var/lib/airgap/dnf/dnf.conf --disablerepo='*' --enablerepo=airgap reinstall PACKAGE; " +
					"then restart its services; if a package is no longer installed, run the same airgap install or airgap join again",
			})
		}
		if u := r.Packages.Unlocked; len(u) > 0 {
			findings = append(findings, Finding{
				Object: "Node " + host, Saw: result.Abbreviate(u) + r.Packages.Saw(), Want: "locked in dnf", Fix: "on " + host + ": " + r.Packages.Fix(),
			})
		}
		return findings
	})
}

func sysctlsStay() rule {
	return reported("sysctls", "Kernel parameters have the values that airgap set", part{name: "sysctls"}, func(host string, r nodereport.Report) []Finding {
		var findings []Finding
		for _, s := range r.Sysctls {
			findings = append(findings, Finding{
				Object: "Node " + host + ", " + s.Key, Saw: s.Saw, Want: s.Want, Fix: "on " + host + ": " + s.Fix(),
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

// judgeRegistries ignores the registry on a host that has not joined yet.
func judgeRegistries(v view) []Finding {
	var findings []Finding
	for _, r := range v.reportsWith(registriesPart()) {
		for _, at := range r.report.Registries {
			if at.Error == "" || at.Node != "" && v.node(at.Node) == nil {
				continue
			}
			findings = append(findings, Finding{
				Object: "Registry " + at.Address + " from " + r.name, Saw: at.Error, Want: "an answer",
				Fix: "on " + r.name + ": curl --noproxy '*' -k https://" + at.Address + "/v2/; on the host of the registry: airgap registry status; firewall-cmd --list-all-zones",
			})
		}
	}
	return findings
}
