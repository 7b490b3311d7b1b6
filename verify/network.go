package verify

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

func noIPIP() rule {
	return rule{
		id: "no-ipip", title: "No host uses IP-in-IP", watches: []kind{nodeReports, calicoPools, felixSettings}, also: []kind{nodes}, every: time.Second,
		judge: judgeIPIP, expects: func(v view) expectation { return v.expectPart(linksPart()) },
	}
}

func linksPart() part {
	return part{name: "links", in: func(r nodereport.Report) bool { return len(r.Links) > 0 }}
}

// judgeIPIP requires that nothing uses IP protocol 4: networks between racks often drop it
// without a trace. tunl0 comes with the kernel module and is no problem while it is down.
func judgeIPIP(v view) []Finding {
	const want = "no IP-in-IP (protocol 4) between hosts"
	var findings []Finding
	for _, p := range all[*keptPool](v, calicoPools) {
		if p.ipip != "" && p.ipip != "Never" {
			findings = append(findings, Finding{
				Object: p.title("IPPool"), Saw: "ipipMode: " + p.ipip, Want: want,
				Fix: fmt.Sprintf(`kubectl patch ippools.crd.projectcalico.org %s --type merge -p '{"spec":{"ipipMode":"Never"}}'; find out why it is set`, p.name),
			})
		}
	}
	for _, f := range all[*keptFelix](v, felixSettings) {
		if f.ipip {
			findings = append(findings, Finding{Object: f.title("FelixConfiguration"), Saw: "ipipEnabled: true", Want: want, Fix: "kubectl edit felixconfigurations.crd.projectcalico.org " + f.name})
		}
	}
	for _, r := range v.reportsWith(linksPart()) {
		for _, l := range r.report.Links {
			if l.Kind == "ipip" && l.Up && nodereport.IsPlainLinkName(l.Name) {
				findings = append(findings, Finding{
					Object: "Node " + r.name + ", link " + l.Name, Saw: "an IP-in-IP tunnel that is up", Want: want,
					Fix: "on " + r.name + ": ip link set " + l.Name + " down; find out why it exists",
				})
			}
		}
	}
	return findings
}

// podNetworkMTU checks the links of the pod network, by name: "flannel.1", "cni0".
func podNetworkMTU(links []string) rule {
	return rule{
		id: "pod-network-mtu", title: "The pod network has the same MTU on every host", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge:   func(v view) []Finding { return judgeMTU(v, links) },
		expects: func(v view) expectation { return expectMTU(v, links) },
	}
}

// expectMTU expects one of the links on each host, unless the pod network has none with a known
// name.
func expectMTU(v view, links []string) expectation {
	hasOne := func(r nodereport.Report) bool {
		return slices.ContainsFunc(links, func(name string) bool { _, there := link(r, name); return there })
	}
	found := slices.ContainsFunc(v.reportsWith(linksPart()), func(r *keptReport) bool { return hasOne(r.report) })
	if e := v.expectPart(linksPart()); e != (expectation{}) || found {
		return v.expectPart(part{name: "links of the pod network", in: hasOne})
	}
	return expectation{nothing: "no host has a pod network link with a known name"}
}

func judgeMTU(v view, links []string) []Finding {
	var findings []Finding
	for _, name := range links {
		said := map[string]string{}
		for _, r := range v.freshReports() {
			if l, there := link(r.report, name); there {
				said[r.name] = inBytes(l.MTU)
			}
		}
		odd, mtu := result.Differing(said, "")
		for _, host := range odd {
			findings = append(findings, Finding{
				Object: "Node " + host + ", link " + name, Saw: said[host], Want: mtu,
				Fix: "on " + host + ": ip link set " + name + " mtu BYTES; find out why it changed",
			})
		}
	}
	return findings
}

func inBytes(mtu int) string { return strconv.Itoa(mtu) + " bytes" }

func link(r nodereport.Report, name string) (nodereport.Link, bool) {
	i := slices.IndexFunc(r.Links, func(l nodereport.Link) bool { return l.Name == name })
	if i < 0 {
		return nodereport.Link{}, false
	}
	return r.Links[i], true
}

func proxyMode(wanted string) rule {
	mode := part{name: "proxyMode", in: func(r nodereport.Report) bool { return r.ProxyMode != "" }}
	return rule{
		id: "kube-proxy-mode", title: "kube-proxy uses the same mode on every node", watches: []kind{nodeReports, nodes}, every: time.Second,
		judge:   func(v view) []Finding { return judgeProxyMode(v.reportsWith(mode), wanted) },
		expects: func(v view) expectation { return v.expectPart(mode) },
	}
}

func judgeProxyMode(reports []*keptReport, wanted string) []Finding {
	said := map[string]string{}
	for _, r := range reports {
		said[r.name] = r.report.ProxyMode
	}
	odd, want := result.Differing(said, wanted)
	var findings []Finding
	for _, host := range odd {
		findings = append(findings, Finding{
			Object: "Node " + host, Saw: "kube-proxy's mode is " + said[host], Want: want,
			Fix: "kubectl -n kube-system get configmap kube-proxy -o yaml; kube-proxy pods read it only when they start",
		})
	}
	return findings
}
