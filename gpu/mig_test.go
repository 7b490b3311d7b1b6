package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// withMIG returns a host with two GPUs without instances. The unit divides them.
func withMIG(t *testing.T, profiles ...string) (*machine, MIG, []Divided) {
	m, s := newMachine(t)
	m.put(t, driverFile, open580)
	cards := []Divided{{GPU: "0 (NVIDIA H200)"}, {GPU: "1 (NVIDIA H200)"}}
	m.does("nvidia-smi -mig 1", func() { cards[0].On, cards[1].On = true, true })
	m.does("nvidia-smi -mig 0", func() { cards[0].On, cards[1].On = false, false })
	m.does("nvidia-smi mig -dgi", func() { cards[0].Profiles, cards[1].Profiles = nil, nil })
	m.does("systemctl restart "+MIGUnit, func() {
		cards[0].Profiles, cards[1].Profiles = slices.Clone(profiles), slices.Clone(profiles)
	})
	return m, MIG{
		Setup: s, Profiles: profiles,
		Cards: func(context.Context) ([]Divided, error) { return slices.Clone(cards), nil },
		Users: func(context.Context) ([]string, error) { return nil, nil },
	}, cards
}

// TestMIGWithoutADriver checks that a reset succeeds if the GPUs cannot be queried.
func TestMIGWithoutADriver(t *testing.T) {
	m, mig, _ := withMIG(t, "1g.18gb")
	if err := MIGStep(mig).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.remove(t, driverFile)
	m.calls = nil
	if err := MIGStep(MIG{Setup: mig.Setup}).Undo(t.Context()); err != nil || m.has(migUndo) || m.has(migFile) || len(m.ran("nvidia-smi")) > 0 {
		t.Errorf("%v; ran %q", err, m.ran("nvidia-smi"))
	}
}

func TestMIG(t *testing.T) {
	m, mig, cards := withMIG(t, "3g.71gb", "1g.18gb")
	st := MIGStep(mig)
	holds(t, st.Done, false)
	if plan, err := st.Plan(t.Context()); err != nil || len(plan) != 2 || plan[0] != "divide GPU 0 (NVIDIA H200) into 3g.71gb, 1g.18gb" {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	if got := m.get(migFile); got != ours+"PROFILES=3g.71gb,1g.18gb\n" || len(m.ran("nvidia-smi mig")) > 0 {
		t.Errorf("settings %q, ran %q", got, m.ran("nvidia-smi"))
	}
	slices.Reverse(cards[0].Profiles) // the order of the library may differ
	holds(t, st.Done, true)

	cards[1].Profiles = []string{"7g.141gb"} // the operator has divided one differently
	holds(t, st.Done, false)
	mig.Users = func(context.Context) ([]string, error) { return []string{"pod default/train-0"}, nil }
	mustSay(t, MIGStep(mig).Run(t.Context()), "kubectl drain", "in use: pod default/train-0")
	if len(m.ran("nvidia-smi mig")) > 0 {
		t.Errorf("GPUs in use: ran %q", m.ran("nvidia-smi"))
	}
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := m.ran("nvidia-smi mig"); !slices.Equal(got, []string{"nvidia-smi mig -dci", "nvidia-smi mig -dgi"}) {
		t.Errorf("ran %q", got)
	}
	holds(t, st.Done, true)

	m.calls = nil
	for range 2 {
		if err := MIGStep(MIG{Setup: mig.Setup}).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(m.ran("nvidia-smi"), []string{"nvidia-smi mig -dci", "nvidia-smi mig -dgi", "nvidia-smi -mig 0"}) || m.enabled[MIGUnit] || m.has(migFile) || m.has(migUndo) {
		t.Errorf("undo ran %q", m.calls)
	}
}

func TestProfileOf(t *testing.T) {
	for name, want := range map[string]string{"NVIDIA A100-SXM4-80GB MIG 1g.10gb": "1g.10gb", "NVIDIA H200 MIG 1g.18gb+me": "1g.18gb+me", "NVIDIA H200": "", "": ""} {
		if got := ProfileOf(name); got != want {
			t.Errorf("%q has %q, want %q", name, got, want)
		}
	}
}

// TestMIGWaitsForAReboot covers a GPU that keeps its mode because a process has it open.
func TestMIGWaitsForAReboot(t *testing.T) {
	m, mig, _ := withMIG(t, "1g.18gb")
	m.says("nvidia-smi -mig 1", "Warning: MIG mode is in pending enable state for GPU 00000000:17:00.0")
	err := MIGStep(mig).Run(t.Context())
	if _, is := errors.AsType[*RebootError](err); !is {
		t.Errorf("got %v", err)
	}
	mustSay(t, err, "run the same command again", "GPU 0 (NVIDIA H200) enables MIG at its next reset")
}

// TestMIGWhole checks that the step without profiles does not change a division of the site, and removes
// one of an earlier run.
func TestMIGWhole(t *testing.T) {
	m, mig, _ := withMIG(t, "1g.18gb")
	none := mig
	none.Profiles = nil
	holds(t, MIGStep(none).Done, true)
	if err := MIGStep(mig).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, MIGStep(none).Done, false)
	if err := MIGStep(none).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, MIGStep(none).Done, true)
	if m.has(migFile) || m.enabled[MIGUnit] {
		t.Error("the next boot would divide the GPUs again")
	}
}

// TestMIGWithoutClients checks that the persistence daemon, which has the GPUs open, stops during a
// change of the mode, and that a GPU that keeps its old mode is an error.
func TestMIGWithoutClients(t *testing.T) {
	m, mig, cards := withMIG(t, "1g.18gb")
	m.put(t, "usr/lib/systemd/system/"+PersistenceUnit, "")
	m.active[PersistenceUnit] = true
	if err := MIGStep(mig).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	none := mig
	none.Profiles = nil
	m.says("nvidia-smi -mig 0", "Warning: MIG mode is in pending disable state for GPU 00000000:17:00.0")
	err := MIGStep(none).Run(t.Context())
	if _, is := errors.AsType[*RebootError](err); !is || !m.has(migUndo) {
		t.Errorf("got %v; the record is removed: %t", err, !m.has(migUndo))
	}
	mustSay(t, err, "run the same command again", "GPU 0 (NVIDIA H200) disables MIG at its next reset")
	m.does("nvidia-smi -mig 0", func() { cards[0].On, cards[1].On = false, false })
	if err := MIGStep(none).Run(t.Context()); err != nil || m.has(migUndo) {
		t.Errorf("after the boot: %v", err)
	}
	var around []string
	for _, call := range m.calls {
		if strings.Contains(call, PersistenceUnit) && !strings.Contains(call, "is-active") || strings.HasPrefix(call, "nvidia-smi -mig") {
			around = append(around, call)
		}
	}
	var want []string
	for _, mode := range []string{"1", "0", "0"} {
		want = append(want, "systemctl stop "+PersistenceUnit, "nvidia-smi -mig "+mode, "systemctl start "+PersistenceUnit)
	}
	if !slices.Equal(around, want) {
		t.Errorf("ran %q, want %q", around, want)
	}
}

// TestMIGRedescribed checks that GPUs are described again after a change of their division, also if the
// unit fails at first.
func TestMIGRedescribed(t *testing.T) {
	for _, whole := range []bool{false, true} {
		m, mig, cards := withMIG(t, "3g.71gb", "1g.18gb")
		m.cards(t, "0000:17:00.0", "0000:3d:00.0")
		m.does("systemctl restart "+CDIUnit, func() { m.put(t, CDIFile, described) })
		cdi := CDIStep(mig.Setup)
		if err := errors.Join(MIGStep(mig).Run(t.Context()), cdi.Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		holds(t, cdi.Done, true)
		if whole {
			mig.Profiles = nil
			if err := MIGStep(mig).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			cards[1].Profiles = []string{"7g.141gb"}
			m.fails("systemctl try-restart "+CDIUnit, "Job for "+CDIUnit+" failed")
			if err := MIGStep(mig).Run(t.Context()); err == nil {
				t.Fatal("the description failed without an error")
			}
		}
		holds(t, MIGStep(mig).Done, true)
		holds(t, cdi.Done, false)
	}
}
