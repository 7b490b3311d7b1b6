package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAbsent: each server of a range is absent, for the reason and until the day.
func TestAbsent(t *testing.T) {
	c, err := Parse("airgap.yaml", []byte(withNodes(t, `  - {name: "w[1-3]", address: "10.0.0.[12-14]", roles: [worker], absent: {reason: "not delivered: order 7", until: 2026-12-24}}
  - {name: w4, address: 10.0.0.15, roles: [worker], absent: {reason: mainboard, until: "2026-12-01"}}
  - {name: w5, address: 10.0.0.16, roles: [worker], absent: {reason: sold}}
`)))
	require.NoError(t, err)
	require.Len(t, c.AbsentNodes(), 5)
	require.Len(t, c.PresentNodes(), 1)
	assert.Equal(t, &Absent{Reason: "not delivered: order 7", Until: "2026-12-24"}, c.Nodes[3].Absent)
	assert.Equal(t, "not delivered: order 7, until 2026-12-24", c.Nodes[3].Absent.String())
	assert.Equal(t, "sold", c.Nodes[5].Absent.String())

	day := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", text, time.Local)
		require.NoError(t, err)
		return at
	}
	assert.Empty(t, c.AbsentWarnings(day("2026-11-30 23:59")))
	warned := c.AbsentWarnings(day("2026-12-01 00:00"))
	require.Len(t, warned, 1)
	assert.Contains(t, warned[0], "w4: absent (mainboard, until 2026-12-01), and this date is past: remove nodes[].absent")
	warned = c.AbsentWarnings(day("2026-12-24 08:00"))
	require.Len(t, warned, 2)
	assert.Contains(t, warned[0], "w[1-3]: absent (not delivered: order 7, until 2026-12-24)")
}

// TestAbsentProblems: a wrong declaration has its line and the expected value.
func TestAbsentProblems(t *testing.T) {
	for name, tc := range map[string]struct {
		absent string
		want   []string
	}{
		"no reason":      {"{until: 2026-12-24}", []string{"airgap.yaml:16:", "nodes[1].absent.reason: missing"}},
		"an empty one":   {"{reason: \" \"}", []string{"nodes[1].absent.reason", "say why the server is not there"}},
		"a long one":     {"{reason: " + strings.Repeat("r", 201) + "}", []string{"nodes[1].absent.reason", "200"}},
		"no day":         {"{reason: r, until: soon}", []string{`nodes[1].absent.until: Invalid value: "soon": want a day such as 2026-12-24`}},
		"no such day":    {"{reason: r, until: 2026-02-30}", []string{"nodes[1].absent.until", "want a day"}},
		"another format": {"{reason: r, until: 24.12.2026}", []string{"nodes[1].absent.until", "want a day"}},
		"unknown field":  {"{reason: r, untl: 2026-12-24}", []string{"nodes[1].absent.untl: unknown field", `did you mean "until"?`}},
		"a word":         {"yes", []string{"nodes[1].absent", "want object"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("airgap.yaml", []byte(withNodes(t, "  - {name: w1, address: 10.0.0.12, roles: [worker], absent: "+tc.absent+"}\n")))
			require.Error(t, err)
			assert.True(t, lineWith(err.Error(), tc.want), "no line with all of %q in:\n%s", tc.want, err)
		})
	}
	text := strings.Replace(full(t), "- name: cp1\n", "- name: cp1\n    absent: {reason: r}\n", 1)
	_, err := Parse("airgap.yaml", []byte(text))
	assert.ErrorContains(t, err, "nodes[0].absent: Invalid value: \"cp1\": the first control-plane node cannot be absent")
}
