package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// withMIG has two cards, whole; the unit divides them.
func withMIG(t *testing.T, profiles ...string) (*machine, MIG, []Divided) {
	m, s := newMachine(t)
	m.put(t, driverFile, open580)
	cards := []Divided{{Card: "0 (NVIDIA H200)"}, {Card: "1 (NVIDIA H200)"}}
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

// TestMIGWithoutADriver: what cannot be asked keeps no reset back.
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
	slices.Reverse(cards[0].Profiles) // the library has its own order
	holds(t, st.Done, true)

	cards[1].Profiles = []string{"7g.141gb"} // somebody has divided one otherwise
	holds(t, st.Done, false)
	mig.Users = func(context.Context) ([]string, error) { return []string{"pod default/train-0"}, nil }
	mustSay(t, MIGStep(mig).Run(t.Context()), "kubectl drain", "in use: pod default/train-0")
	if len(m.ran("nvidia-smi mig")) > 0 {
		t.Errorf("though in use, ran %q", m.ran("nvidia-smi"))
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

// TestMIGWaitsForAReboot: a card that somebody has open keeps its mode.
func TestMIGWaitsForAReboot(t *testing.T) {
	m, mig, _ := withMIG(t, "1g.18gb")
	m.says("nvidia-smi -mig 1", "Warning: MIG mode is in pending enable state for GPU 00000000:17:00.0")
	err := MIGStep(mig).Run(t.Context())
	if _, is := errors.AsType[*RebootError](err); !is {
		t.Errorf("got %v", err)
	}
	mustSay(t, err, "run the same command again", "GPU 0 (NVIDIA H200) turns MIG on when it is reset")
}

// TestMIGWhole: without profiles it leaves cards alone that a site has divided
// itself, and takes back what an earlier run has.
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
		t.Error("a boot would divide them again")
	}
}

// TestMIGWithoutClients: the persistence daemon has cards open, which keeps an A100 from its
// new mode; and one that keeps the old mode all the same is not taken for whole.
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
		t.Errorf("got %v; it is forgotten: %t", err, !m.has(migUndo))
	}
	mustSay(t, err, "run the same command again", "GPU 0 (NVIDIA H200) turns MIG off when it is reset")
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

// TestMIGDescribedAnew: cards that are divided otherwise, or made whole, are described
// again, even if the unit that does it fails right then.
func TestMIGDescribedAnew(t *testing.T) {
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
				t.Fatal("the description failed, and nobody says so")
			}
		}
		holds(t, MIGStep(mig).Done, true)
		holds(t, cdi.Done, false)
	}
}
