package netprobe

import (
	"fmt"
	"time"
)

// Differences between clocks that etcd and TLS tolerate.
const (
	skewStops = 2 * time.Second
	skewWarns = 500 * time.Millisecond
)

// clocks returns the findings about clocks that differ.
func (m *Matrix) clocks() []Finding {
	worst := map[Severity][]string{}
	for _, s := range m.apart() {
		severity := Warns
		if s.Ahead >= skewStops {
			severity = Stops
		}
		worst[severity] = append(worst[severity], fmt.Sprintf("%s is %s ahead of %s", m.Hosts[s.To].Name, s.Ahead.Round(100*time.Millisecond), m.Hosts[s.From].Name))
	}
	var found []Finding
	for _, severity := range []Severity{Stops, Warns} {
		if len(worst[severity]) > 0 {
			found = append(found, Finding{Severity: severity, About: AboutClocks, Owner: HostTeam, What: "clocks differ", Between: m.few(worst[severity]), Fix: "use the same time servers on all hosts: chronyc sources, then chronyc makestep"})
		}
	}
	return found
}

// apart returns each pair of hosts with different clocks once, with To ahead of From. A pair can
// have a result in one direction only.
func (m *Matrix) apart() []Skew {
	var found []Skew
	at := map[[2]int]int{}
	for _, s := range m.Skews {
		if s.Ahead < 0 {
			s.From, s.To, s.Ahead = s.To, s.From, -s.Ahead
		}
		if s.Ahead < skewWarns {
			continue
		}
		pair := [2]int{min(s.From, s.To), max(s.From, s.To)}
		if i, known := at[pair]; known {
			found[i].Ahead = max(found[i].Ahead, s.Ahead)
			continue
		}
		at[pair] = len(found)
		found = append(found, s)
	}
	return found
}
