package netprobe

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOneSided: lost answers in one direction and lost data in the other one are one fault. Each of
// them alone, or between other hosts, keeps its name.
func TestOneSided(t *testing.T) {
	answers, data := Verdict{From: 0, To: 1, Kind: TCP, Port: 10250, State: AnswersLost}, Verdict{From: 1, To: 0, Kind: TCP, Port: 6443, State: DataLost}
	elsewhere := Verdict{From: 1, To: 2, Kind: TCP, Port: 10250, State: DataLost}
	m := &Matrix{Verdicts: []Verdict{answers, data, elsewhere, {From: 1, To: 0, Kind: TCP, Port: 10250, State: Open}}}
	m.markOneSided()
	for i, want := range []State{OneSided, OneSided, DataLost, Open} {
		assert.Equal(t, want, m.Verdicts[i].State, i)
	}
	m = &Matrix{Verdicts: []Verdict{answers, elsewhere}}
	m.markOneSided()
	assert.Equal(t, []Verdict{answers, elsewhere}, m.Verdicts)
}

// TestNarrowOnce: the loss of large packets of TLS is no finding beside the one about the sizes of the
// path, in the same direction or in the other one.
func TestNarrowOnce(t *testing.T) {
	loss := Verdict{From: 0, To: 1, Kind: TCP, Port: 10250, State: Narrow}
	stalled := []Stream{{Sent: 300000, Stalled: true}, {Sent: 300000, Stalled: true}}
	for name, test := range map[string]struct {
		size  Verdict
		paths []Path
		mtu   int
		want  []About
	}{
		"the path is narrow":     {Verdict{From: 0, To: 1, Kind: Size, State: Narrow, Size: 1400, MTU: 1500}, nil, 0, []About{AboutSize}},
		"the way back is narrow": {Verdict{From: 1, To: 0, Kind: Size, State: Narrow, Size: 1400, MTU: 1500}, []Path{{From: 1, To: 0, Streams: stalled}}, 1400, []About{AboutSize}},
		"pods have small ones":   {Verdict{From: 0, To: 1, Kind: Size, State: Narrow, Size: 1400, MTU: 1500}, nil, 1400, []About{AboutPorts}},
		"the sizes pass":         {Verdict{From: 0, To: 1, Kind: Size, State: Open, Size: 1500, MTU: 1500}, nil, 0, []About{AboutPorts}},
	} {
		m := pairOf(loss)
		m.Verdicts, m.Paths = append(m.Verdicts, test.size), test.paths
		var about []About
		for _, f := range m.Findings(Needs{TCP: []Port{{10250, "kubelet", All, All}}, MTU: test.mtu}) {
			about = append(about, f.About)
		}
		assert.Equal(t, test.want, about, name)
	}
}
