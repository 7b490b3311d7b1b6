package choice_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
)

func nodes() []config.Node {
	return []config.Node{
		{Name: "cp1", Rack: "r1"},
		{Name: "node001", Group: "apps", Rack: "r1"}, {Name: "node002", Group: "apps", Rack: "r1"}, {Name: "node003", Group: "apps", Rack: "r2"},
		{Name: "gpu1", Group: "gpu", Rack: "r2"}, {Name: "gpu2", Group: "gpu", Rack: "r2"},
		{Name: "node004", Group: "apps", Rack: "r2", Absent: &config.Absent{Reason: "mainboard", Until: "2026-12-24"}},
	}
}

func names(nodes []config.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return hostrange.Join(all)
}

// TestOf: the nodes are those that the flags name, in the order of airgap.yaml.
func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		choice  choice.Choice
		in, out string
	}{
		"all":                  {choice.Choice{}, "cp1, node[001-003], gpu[1-2]", "node004"},
		"a name":               {choice.Choice{Limit: []string{"gpu2"}}, "gpu2", "cp1, node[001-004], gpu1"},
		"names in one value":   {choice.Choice{Limit: []string{"gpu2, cp1"}}, "cp1, gpu2", "node[001-004], gpu1"},
		"two values":           {choice.Choice{Limit: []string{"gpu2", "cp1"}}, "cp1, gpu2", "node[001-004], gpu1"},
		"a range":              {choice.Choice{Limit: []string{"node[001-002]"}}, "node[001-002]", "cp1, node[003-004], gpu[1-2]"},
		"a range with a comma": {choice.Choice{Limit: []string{"node[001,003],gpu1"}}, "node[001,003], gpu1", "cp1, node[002,004], gpu2"},
		"a group":              {choice.Choice{Limit: []string{"group:gpu"}}, "gpu[1-2]", "cp1, node[001-004]"},
		"a rack":               {choice.Choice{Except: []string{"rack:r2"}}, "cp1, node[001-002]", "node[003-004], gpu[1-2]"},
		"both":                 {choice.Choice{Limit: []string{"rack:r1"}, Except: []string{"node001"}}, "cp1, node002", "node[001,003-004], gpu[1-2]"},
		"a host twice":         {choice.Choice{Limit: []string{"group:apps,node001", "node001"}}, "node[001-003]", "cp1, gpu[1-2], node004"},
		"an absent exception":  {choice.Choice{Except: []string{"node004"}}, "cp1, node[001-003], gpu[1-2]", "node004"},
	} {
		t.Run(name, func(t *testing.T) {
			in, out, err := tc.choice.Of(nodes())
			require.NoError(t, err)
			assert.Equal(t, tc.in, names(in))
			assert.Equal(t, tc.out, names(out))
		})
	}
}

// TestRackNames: racks are any text, also with spaces, commas and brackets.
func TestRackNames(t *testing.T) {
	all := []config.Node{{Name: "n1", Rack: "hall 2, row 7"}, {Name: "n2", Rack: "r[1]"}, {Name: "n3", Rack: "hall 2"}}
	for limit, want := range map[string]string{"rack:hall 2, row 7": "n1", "rack:r[1]": "n2", "rack:hall 2": "n3", "rack:hall 2,n2": "n[2-3]"} {
		in, _, err := choice.Choice{Limit: []string{limit}}.Of(all)
		require.NoError(t, err, limit)
		assert.Equal(t, want, names(in))
	}
}

// TestBadChoice: a mistake is a usage error that has the flag, the value and the expected form.
func TestBadChoice(t *testing.T) {
	for name, tc := range map[string]struct {
		choice choice.Choice
		want   []string
	}{
		"empty":            {choice.Choice{Limit: []string{""}}, []string{`--limit "": an item is empty: want the name of a host`, "cp1, node[001-004], gpu[1-2]"}},
		"spaces":           {choice.Choice{Except: []string{"  "}}, []string{"--except", "an item is empty"}},
		"an empty item":    {choice.Choice{Limit: []string{"cp1,,gpu1"}}, []string{"--limit cp1,,gpu1: an item is empty"}},
		"comma at the end": {choice.Choice{Limit: []string{"cp1,"}}, []string{"--limit cp1,: an item is empty"}},
		"unknown":          {choice.Choice{Limit: []string{"gup1"}}, []string{`--limit gup1: airgap.yaml has no node gup1; did you mean "gpu1"?; it has cp1, node[001-004], gpu[1-2]`}},
		"part of a range":  {choice.Choice{Limit: []string{"node[003-006]"}}, []string{"airgap.yaml has no node node[005-006]; it has"}},
		"no range":         {choice.Choice{Limit: []string{"node[3-1]"}}, []string{"--limit node[3-1]: [3-1] is not a range", "[001-100]"}},
		"open bracket":     {choice.Choice{Limit: []string{"node[1,cp1"}}, []string{"bracket without its pair"}},
		"closed bracket":   {choice.Choice{Limit: []string{"node1],cp1"}}, []string{"bracket without its pair"}},
		"a wildcard":       {choice.Choice{Limit: []string{"node*"}}, []string{"airgap.yaml has no node node*"}},
		"unknown group":    {choice.Choice{Limit: []string{"group:gpus"}}, []string{`no node of airgap.yaml has the group "gpus"; did you mean "gpu"?; it has apps, gpu`}},
		"empty group":      {choice.Choice{Limit: []string{"group:"}}, []string{`the group ""`}},
		"unknown rack":     {choice.Choice{Except: []string{"rack:r7"}}, []string{`--except rack:r7: no node of airgap.yaml has the rack "r7"; it has r1, r2`}},
		"absent":           {choice.Choice{Limit: []string{"node004"}}, []string{"--limit node004: node004 is absent by airgap.yaml: mainboard"}},
		"none left":        {choice.Choice{Limit: []string{"gpu1"}, Except: []string{"gpu1"}}, []string{"--limit and --except leave no host of cp1"}},
		"all excepted":     {choice.Choice{Except: []string{"rack:r1,rack:r2"}}, []string{"leave no host"}},
		"negative":         {choice.Choice{MaxFailures: -1}, []string{"--max-failures -1: want 0 or a number of hosts"}},
	} {
		t.Run(name, func(t *testing.T) {
			in, out, err := tc.choice.Of(nodes())
			require.Error(t, err)
			for _, want := range tc.want {
				assert.ErrorContains(t, err, want)
			}
			assert.True(t, advice.IsUsage(err), "it is no usage error")
			assert.Empty(t, in)
			assert.Empty(t, out)
		})
	}
}

// TestOthers: the command always works on its own host, which --limit can leave out and --except cannot.
func TestOthers(t *testing.T) {
	in, out, err := choice.Choice{Limit: []string{"gpu1"}}.Others(nodes(), "cp1")
	require.NoError(t, err)
	assert.Equal(t, "gpu1", names(in))
	assert.Equal(t, "node[001-004], gpu2", names(out))

	in, _, err = choice.Choice{Limit: []string{"cp1"}}.Others(nodes(), "cp1")
	require.NoError(t, err)
	assert.Empty(t, in)

	_, _, err = choice.Choice{Except: []string{"rack:r1"}}.Others(nodes(), "cp1")
	assert.ErrorContains(t, err, "--except cp1: the command runs on this host, and always works on it")
	assert.True(t, advice.IsUsage(err))
}

func TestWhy(t *testing.T) {
	all := nodes()
	c := choice.Choice{Limit: []string{"rack:r2"}, Except: []string{"gpu1"}}
	assert.Equal(t, "left out with --limit", c.Why(all[1], all))
	assert.Equal(t, "left out with --except", c.Why(all[4], all))
	assert.Equal(t, "absent: mainboard", c.Why(all[6], all))
}

// TestNoRacks: the error reports that airgap.yaml has no racks or groups.
func TestNoRacks(t *testing.T) {
	for _, item := range []string{"rack:r1", "group:gpu"} {
		_, _, err := choice.Choice{Limit: []string{item}}.Of([]config.Node{{Name: "cp1"}})
		assert.ErrorContains(t, err, "no node of airgap.yaml has a ")
	}
}
