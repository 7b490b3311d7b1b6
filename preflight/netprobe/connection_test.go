package netprobe

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPageOfDevices: the page for the network administrators has these results in their language, and
// no result that is for the administrators of the hosts.
func TestPageOfDevices(t *testing.T) {
	needs := Needs{TCP: []Port{{6443, "kube-apiserver", ControlPlanes, All}}, VXLAN: 8472, OpensFirewall: true}
	at := netip.MustParseAddr
	for _, v := range []Verdict{
		{Kind: TCP, Port: 6443, State: AnswersLost}, {Kind: TCP, Port: 6443, State: Replaced}, {Kind: TCP, Port: 6443, State: DataLost},
		{Kind: TCP, Port: 6443, State: TLSCloses}, {Kind: TCP, Port: 6443, State: OneSided}, {Kind: TCP, Port: 6443, State: Inspected}, {Kind: TCP, Port: 6443, State: Narrow},
		{Kind: VXLANTCP, Port: 8472, State: AnswersLost}, {Kind: TCP, Port: 6443, State: AnswersBlocked}, {Kind: TCP, Port: 6443, State: AnswersKept},
	} {
		for _, language := range Languages() {
			m := pairOf(v)
			m.Rewritten = []Rewritten{{From: 0, To: 1, Protocol: "TCP", Left: at("10.0.0.1"), Arrived: at("10.9.9.9")}, {From: 1, To: 0, Protocol: "TCP", Left: at("10.0.0.7")}}
			p := &Page{Language: language, Flows: []Flow{{Kind: v.Kind, Port: v.Port}}}
			p.Measure(m, needs)
			changes, state := 2, FlowClosed
			if v.State == AnswersBlocked || v.State == AnswersKept {
				changes, state = 1, FlowPasses
			}
			if len(p.Changes) != changes || p.Flows[0].State != state {
				t.Errorf("%s: %+v, %+v", v.State, p.Flows, p.Changes)
			}
			for _, f := range p.Changes {
				text := f.What + " " + strings.Join(f.Between, " ") + " " + f.Fix
				if english := regexp.MustCompile(`[a-z']{3,} [a-z']{3,}.*`).FindString(text); (english == "") == (language == English) {
					t.Errorf("%s: %q", language, text)
				}
			}
			if !slices.ContainsFunc(p.Changes, func(f Finding) bool { return strings.Contains(strings.Join(f.Between, ""), "10.9.9.9") }) {
				t.Errorf("the address that arrives is not named: %+v", p.Changes)
			}
		}
	}
}

// TestStream judges a port with a connection from the results of both sides.
func TestStream(t *testing.T) {
	const port = 10250
	arrived := Observation{From: 0, Kind: TCP, Port: port, Layer: AtInterface}
	answered := Observation{From: 0, Kind: TCP, Port: port, Layer: AnswerLeft}
	accepted := Observation{From: 0, Kind: TCP, Port: port, Layer: Accepted}
	occupied := []ListenError{{Kind: TCP, Port: port, Layer: AtSocket}}
	deaf := []ListenError{{Layer: AtInterface}}
	for name, test := range map[string]struct {
		plain  Result
		secure Attempt // no test without a result
		seen   []Observation
		errors []ListenError
		want   State
	}{
		"both pass":                          {Answered, Attempt{Result: Answered}, nil, nil, Open},
		"a device permits TLS only":          {Silent, Attempt{Result: Answered}, nil, nil, Open},
		"without a test of TLS":              {Answered, Attempt{}, nil, nil, Open},
		"the second connection is lost":      {Answered, Attempt{Result: NoReply}, nil, nil, Open},
		"another certificate":                {Answered, Attempt{Result: OtherCertificate}, nil, nil, Inspected},
		"TLS is dropped":                     {Answered, Attempt{Result: Silent}, nil, nil, TLSCloses},
		"TLS is reset":                       {Answered, Attempt{Result: Ended}, nil, nil, TLSCloses},
		"an answer that is not TLS":          {Answered, Attempt{Result: OtherProgram}, nil, nil, TLSCloses},
		"64 KiB do not pass":                 {Answered, Attempt{Result: Silent, Bytes: 46}, nil, nil, DataLost},
		"another program has the port":       {OtherProgram, Attempt{Result: OtherCertificate}, nil, occupied, Open},
		"a silent program has the port":      {Silent, Attempt{Result: Silent}, nil, occupied, Open},
		"the host redirects the port":        {OtherProgram, Attempt{Result: OtherCertificate}, []Observation{arrived, answered}, nil, Open},
		"the host received nothing":          {OtherProgram, Attempt{Result: OtherCertificate}, nil, nil, Replaced},
		"the host does not answer":           {Ended, Attempt{Result: Ended}, []Observation{arrived}, nil, Replaced},
		"and captures nothing":               {OtherProgram, Attempt{Result: OtherCertificate}, nil, deaf, Open},
		"data is dropped":                    {Silent, Attempt{Result: Silent}, []Observation{arrived, answered, accepted}, nil, DataLost},
		"data is dropped, before the accept": {Silent, Attempt{Result: Silent}, []Observation{arrived, answered}, nil, DataLost},
		"data is answered with a reset":      {Ended, Attempt{Result: Ended}, []Observation{arrived, answered, accepted}, nil, DataLost},
		"a proxy for TLS only":               {Ended, Attempt{Result: OtherCertificate}, []Observation{arrived, answered, accepted}, nil, Inspected},
	} {
		hosts := []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
		here := &Report{Schema: Schema, Hosts: hosts, Attempts: []Attempt{{To: 1, Kind: TCP, Port: port, Result: test.plain}}}
		if test.secure.Result != "" {
			test.secure.To, test.secure.Kind, test.secure.Port = 1, TLS, port
			here.Attempts = append(here.Attempts, test.secure)
		}
		m, err := Judge([]*Report{here, {Schema: Schema, Hosts: hosts, Self: 1, Observations: test.seen, ListenErrors: test.errors}})
		if err != nil {
			t.Fatal(err)
		}
		if got := result(t, m, 0, 1, TCP, port); got.State != test.want {
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
}
