package facts

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRules: the three rules of every host are left out, and the other ones keep their conditions.
func TestRules(t *testing.T) {
	const defaults = `{"priority":0,"src":"all","table":"local"},{"priority":32766,"src":"all","table":"main"},{"priority":32767,"src":"all","table":"default"}`
	for text, want := range map[string]string{
		"":                   "",
		"[]":                 "",
		"[" + defaults + "]": "",
		`[` + defaults + `,{"priority":100,"src":"10.0.1.0","srclen":24,"table":"101"}]`:     "100: from 10.0.1.0/24 lookup 101",
		`[{"priority":99,"src":"10.0.1.7","table":"storage"}]`:                               "99: from 10.0.1.7/32 lookup storage",
		`[{"priority":90,"src":"all","dst":"10.0.0.0","dstlen":8,"iif":"eth1","table":"7"}]`: "90: from all to 10.0.0.0/8 iif eth1 lookup 7",
		`[{"not":null,"priority":32765,"src":"all","fwmark":"0xca6c","table":"51820"}]`:      "32765: from all not fwmark 0xca6c lookup 51820",
		`[{"priority":1000,"src":"all","l3mdev":null,"table":"[l3mdev-table]"}]`:             "1000: from all lookup l3mdev",
		`[{"priority":5,"src":"all","table":"main","suppress_prefixlen":0}]`:                 "5: from all suppress_prefixlen 0 lookup main",
		`[{"priority":6,"src":"10.9.0.0","srclen":16,"action":"unreachable"}]`:               "6: from 10.9.0.0/16 lookup unreachable",
		`[{"priority":7,"src":"10.244.0.0","srclen":16,"table":"main"}]`:                     "7: from 10.244.0.0/16 lookup main",
	} {
		rules, err := parseRules(text)
		require.NoError(t, err, text)
		var got string
		for _, r := range rules {
			got += r.String()
		}
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"x", `[{"src":"a"}]`, `[{"dst":7}`} {
		_, err := parseRules(text)
		assert.Error(t, err, text)
	}
}

func TestTables(t *testing.T) {
	tables, err := parseTables(`[{"dst":"default","gateway":"10.0.0.1","dev":"eth0"},{"dst":"default","gateway":"10.0.1.1","dev":"eth1","table":"101"},
{"dst":"10.0.1.0/24","dev":"eth1","table":101},{"type":"local","dst":"127.0.0.1","dev":"lo","table":"local"}]`)
	require.NoError(t, err)
	require.Len(t, tables, 1)
	assert.Len(t, tables["101"], 2)
	vrfs, err := parseVRFs(`[{},{"ifname":"mgmt","linkinfo":{"info_kind":"vrf","info_data":{"table":1000007}}},{}]`)
	require.NoError(t, err)
	assert.Equal(t, []vrf{{"mgmt", "1000007"}}, vrfs)
	tables, err = parseTables(`[{"dst":"10.96.4.0/24","dev":"eth1","table":"1000007"},{"dst":"10.97.0.0/16","dev":"eth1","table":8}]`)
	require.NoError(t, err)
	assert.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.96.4.0/24")}, routesOf(vrfs, tables))
}

// TestRulesSurvive: the conditions of rules are in a survey.
func TestRulesSurvive(t *testing.T) {
	rules, err := parseRules(`[{"priority":100,"src":"10.0.1.0","srclen":24,"dst":"10.2.0.0","dstlen":16,"iif":"eth1","fwmark":"0x1","table":"101"},{"priority":7,"src":"all","table":"9"}]`)
	require.NoError(t, err)
	rules[1].Routes = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	var b bytes.Buffer
	require.NoError(t, (&Facts{Schema: Schema, Rules: rules, VRFs: []string{"mgmt"}}).Write(&b))
	back, err := ReadFacts(&b)
	require.NoError(t, err)
	assert.Equal(t, rules, back.Rules)
	assert.Equal(t, []string{"mgmt"}, back.VRFs)
}

// FuzzRules: no output of ip makes the parsers panic.
func FuzzRules(f *testing.F) {
	f.Add(`[{"priority":100,"src":"10.0.1.0","srclen":24,"table":"101"}]`)
	f.Add(`[{"priority":1e99,"src":"10.0.1.0","srclen":-3,"table":7,"not":[1]}]`)
	f.Fuzz(func(_ *testing.T, text string) {
		rules, _ := parseRules(text)
		for _, r := range rules {
			_ = r.String()
		}
		_, _ = parseTables(text)
		_, _ = parseVRFs(text)
	})
}
