package netprobe

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPage has flows that pass, that only a host's own firewall blocks, that the network drops, and
// that are not measured.
func TestPage(t *testing.T) {
	m := &Matrix{
		Hosts: []Host{{Name: "cp1", Address: netip.MustParseAddr("10.0.0.1"), ControlPlane: true}, {Name: "w<1>", Address: netip.MustParseAddr("10.0.0.2")}},
		Tried: 2, Of: 2,
		Verdicts: []Verdict{
			{From: 0, To: 1, Kind: TCP, Port: 10250, State: Open}, {From: 1, To: 0, Kind: TCP, Port: 10250, State: HostCloses, Opens: true},
			{From: 1, To: 0, Kind: TCP, Port: 6443, State: NetworkCloses},
			{From: 0, To: 1, Kind: VXLANTCP, Port: 8472, State: Open}, {From: 1, To: 0, Kind: VXLANTCP, Port: 8472, State: Narrow},
			{From: 0, To: 1, Kind: TCP, Port: 5000, State: Unknown}, {From: 1, To: 0, Kind: TCP, Port: 5000, State: SenderCloses},
		},
		VIPs: map[int]*VIP{0: {Hits: map[int]int{0: 2}}, 1: {Failures: map[Result]int{NoReply: 1}}},
	}
	syn := Packet{Peer: 0, Kind: TCP, Port: 6443, Layer: RequestLeft, Time: time.Unix(0, 1000), Headers: headersOf(t, synHeaders)}
	m.reports = []*Report{{Hosts: m.Hosts, Observations: []Observation{}}, {Hosts: m.Hosts, Self: 1, Packets: []Packet{syn}}}
	tcp := func(number int, program string) Port { return Port{Number: number, For: program, To: All, From: All} }
	p := &Page{Language: English, Cluster: "bank", Flows: []Flow{
		{What: "TCP 10250", Kind: TCP, Port: 10250}, {What: "TCP 6443", Kind: TCP, Port: 6443}, {What: "UDP 8472", Kind: VXLANTCP, Port: 8472},
		{What: "TCP 5000", Kind: TCP, Port: 5000}, {What: "UDP 123"}, {What: "TCP 443", Kind: Balanced},
	}}
	needs := Needs{TCP: []Port{tcp(10250, "kubelet"), tcp(6443, "kube-apiserver"), tcp(5000, "registry")}, VXLAN: 8472, OpensFirewall: true}
	p.Measure(m, needs)
	for _, f := range m.Findings(needs) {
		if strings.HasPrefix(f.What, "TCP 5000 (registry)") && f.Owner != HostTeam {
			t.Errorf("the network's owners cannot change this: %+v", f)
		}
	}
	want := []FlowState{FlowPasses, FlowClosed, FlowClosed, FlowUnmeasured, FlowUnmeasured, FlowClosed}
	for i, f := range p.Flows {
		if f.State != want[i] || (f.State == FlowClosed) != (len(f.Faults) > 0) {
			t.Errorf("%s %s: %q, want %s", f.What, f.State, f.Faults, want[i])
		}
	}
	if !slices.Equal(p.Flows[1].Faults, []string{"from w<1> (10.0.0.2) to cp1 (10.0.0.1)"}) {
		t.Errorf("the API's ways that are closed: %q", p.Flows[1].Faults)
	}
	for _, c := range p.Changes {
		if !c.Owner.onNetwork() || strings.Contains(c.What, "10250") || strings.Contains(c.What, "5000") {
			t.Errorf("nothing for the network's owners: %+v", c)
		}
	}
	var html, text strings.Builder
	if err := p.HTML(&html); err != nil {
		t.Fatal(err)
	}
	if err := p.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Changes are required.", "from w&lt;1&gt; (10.0.0.2) to cp1", "allow TCP to port 6443",
		"w&lt;1&gt; 00:00:00.000001 out 10.0.0.1.99 &gt; 10.0.0.2.7122: TCP SYN, ttl 64\ncp1: no such packet arrived at its interface\n</pre>"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	korean := &Page{Language: Korean, Cluster: "bank", Flows: slices.Clone(p.Flows)}
	needs.OpensFirewall = false
	korean.Measure(m, needs)
	var inKorean strings.Builder
	if err := korean.HTML(&inKorean); err != nil {
		t.Fatal(err)
	}
	body := regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]+>`).ReplaceAllString(inKorean.String(), "|")
	if found := regexp.MustCompile(`[a-z']{3,},? [a-z']{3,}.*`).FindString(body); found != "" || !strings.Contains(body, "w&lt;1&gt; (10.0.0.2)에서 cp1") {
		t.Errorf("the Korean page has English: %q\n%s", found, body)
	}
	if !strings.Contains(inKorean.String(), "TCP SYN, ttl 64\ncp1: 인터페이스에 이런 패킷이 도착하지 않음") {
		t.Errorf("the Korean page has no packets:\n%s", body)
	}
	if !strings.Contains(text.String(), "    cp1: no such packet arrived at its interface\n") {
		t.Errorf("the text has no packets:\n%s", &text)
	}
	if !strings.Contains(text.String(), "from w<1> (10.0.0.2) to cp1") || strings.Contains(html.String(), "w<1>") {
		t.Error("a name is not as it should be")
	}
}
