package selinuxtest

import (
	"slices"
	"testing"
)

// TestRules reads the output of sesearch 4.4 and matchpathcon.
func TestRules(t *testing.T) {
	const transitions = "type_transition init_t bin_t:process initrc_t;\n" +
		"type_transition init_t crond_exec_t:process crond_t;\n" +
		"type_transition init_t container_runtime_exec_t:process container_runtime_t;\n" +
		"type_transition init_t container_runtime_exec_t:process other_t \"a name\";\n"
	if got := domainIn(transitions, "container_runtime_exec_t"); got != "container_runtime_t" {
		t.Errorf("domain %q", got)
	}
	if got := domainIn(transitions, "usr_t"); got != "" {
		t.Errorf("domain %q without a rule", got)
	}
	const allows = "allow domain file_type:dir getattr;\n" +
		"allow container_t container_file_t:dir { open read search };\n" +
		"allow container_t container_file_t:dir { add_name write }; [ container_writes ]:True\n"
	if got := deniedIn(allows, []string{"getattr", "read", "write", "remove_name"}); !slices.Equal(got, []string{"write (only with [ container_writes ]:True)", "remove_name"}) {
		t.Errorf("denied %q", got)
	}
	for context, want := range map[string]string{"system_u:object_r:etc_t:s0\n": "etc_t", "<<none>>\n": ""} {
		if got := typeIn(context); got != want {
			t.Errorf("%q has type %q", context, got)
		}
	}
}
