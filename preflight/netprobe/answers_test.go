package netprobe

import (
	"net/netip"
	"testing"
)

// TestLostReplyExplained: if the requests of the other host do not arrive either, only that direction
// of the VXLAN has a fault.
func TestLostReplyExplained(t *testing.T) {
	hosts := []Host{{Name: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Name: "b", Address: netip.MustParseAddr("10.0.0.2")}}
	here := &Report{Schema: Schema, Hosts: hosts, Attempts: []Attempt{{To: 1, Kind: VXLANPing, Port: 8472, Result: NoReply}}}
	there := &Report{Schema: Schema, Hosts: hosts, Self: 1, Observations: []Observation{
		{From: 0, Kind: VXLANUDP, Port: 8472, Layer: AtSocket}, {From: 0, Kind: VXLANUDP, Port: 8472, Layer: AnswerLeft},
	}}
	for _, test := range []struct {
		back []Observation
		want State
	}{
		{nil, Open},
		{[]Observation{{From: 1, Kind: VXLANUDP, Port: 8472, Layer: AtSocket}}, AnswersLost},
	} {
		here.Observations = test.back
		m, err := Judge([]*Report{here, there})
		if err != nil {
			t.Fatal(err)
		}
		if got := result(t, m, 0, 1, VXLANTCP, 8472); got.State != test.want {
			t.Errorf("%+v, want %s", got, test.want)
		}
	}
}

// result returns one result of the matrix.
func result(t testing.TB, m *Matrix, from, to int, kind Kind, port int) Verdict {
	t.Helper()
	for _, v := range m.Verdicts {
		if v.From == from && v.To == to && v.Kind == kind && v.Port == port {
			return v
		}
	}
	t.Fatalf("no result for %s %d from %d to %d", kind, port, from, to)
	return Verdict{}
}
