package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// TestProblems: file, line and the expected value; a secret is never printed.
func TestProblems(t *testing.T) {
	const head = "name,address,roles\n"
	for name, tc := range map[string]struct {
		format Format
		text   string
		want   []string
	}{
		"yaml, two documents":   {YAML, "workers:\n  hosts:\n    w1: {ansible_host: 10.0.0.21}\n---\nmasters:\n  hosts: {}\n", []string{"list:4:1: a second document begins here"}},
		"csv, unknown column":   {CSV, "name,address,roles,colour\n", []string{"list:1:1: colour: unknown column: want one of address,", "rack"}},
		"csv, near column":      {CSV, "name,addrss,roles\n", []string{"list:1:1: addrss: unknown column", `did you mean "address"?`}},
		"csv, no header":        {CSV, "cp1,10.0.0.11,control-plane\n", []string{"list:1:1: cp1: unknown column"}},
		"csv, no address":       {CSV, "name,roles\n", []string{"list:1:1: the header has no column address: want a first row such as name,address,roles,rack"}},
		"csv, two columns":      {CSV, "name,ip,address,roles\n", []string{"two columns are the address"}},
		"csv, nameless column":  {CSV, "name,address,roles,\n", []string{"list:1:1: column 4 has no name"}},
		"csv, short row":        {CSV, head + "w1,10.0.0.21\n", []string{"list:2:1: the row has 2 values, and the header 3"}},
		"csv, a quote":          {CSV, head + "w\"1,10.0.0.21,worker\n", []string{"list:2:1: the row is not CSV"}},
		"csv, open quote":       {CSV, head + "\"w1,10.0.0.21,worker\n", []string{"list:2:1: the row is not CSV"}},
		"csv, a host twice":     {CSV, head + "w1,10.0.0.21,worker\nw2,10.0.0.22,worker\nw1,10.0.0.23,worker\n", []string{"list:4:1: w1.name: Duplicate value: \"w1\": line 2 has it too"}},
		"csv, address twice":    {CSV, head + "w1,10.0.0.21,worker\nw2,10.0.0.21,worker\n", []string{"list:3:1: w2.address: Duplicate value: \"10.0.0.21\": line 2 has it too"}},
		"csv, no range":         {CSV, head + "w[1:9],10.0.0.[1-9],worker\n", []string{"list:2:1: w[1:9]:", "FIRST-LAST"}},
		"csv, uneven ranges":    {CSV, head + "w[1-9],10.0.0.[1-8],worker\n", []string{"list:2:1: w[1-9]:", "has 8 of the 9 values"}},
		"csv, role":             {CSV, head + "w1,10.0.0.21,werker\n", []string{"list:2:1: w1.roles[0]: want one of control-plane, worker, gpu", `did you mean "worker"?`}},
		"csv, no role":          {CSV, head + "w1,10.0.0.21,\n", []string{"list:2:1: roles: want one or several of"}},
		"csv, gpu only":         {CSV, head + "w1,10.0.0.21,gpu\n", []string{"list:2:1: w1.roles", "worker too"}},
		"csv, gpu":              {CSV, "name,address,roles,gpu\nw1,10.0.0.21,worker,A100\n", []string{"list:2:1: gpu: want yes or no"}},
		"csv, name":             {CSV, head + "W_1,10.0.0.21,worker\n", []string{"list:2:1: W_1.name", "lowercase"}},
		"csv, no name":          {CSV, head + ",10.0.0.21,worker\n", []string{"list:2:1: name: want the name"}},
		"csv, address":          {CSV, head + "w1,10.0.0.512,worker\n", []string{"list:2:1: w1.address", "want an IPv4 address"}},
		"csv, no address there": {CSV, head + "w1,,worker\n", []string{"list:2:1: w1: the host has no address"}},
		"csv, port":             {CSV, "name,address,roles,ssh_port\nw1,10.0.0.21,worker,70000\n", []string{"list:2:1: w1.ssh.port: want a TCP port"}},
		"csv, user":             {CSV, "name,address,roles,ssh_user\nw1,10.0.0.21,worker,a b\n", []string{"list:2:1: w1.ssh.user"}},
		"csv, relative key":     {CSV, "name,address,roles,ssh_identity_file\nw1,10.0.0.21,worker,id\n", []string{"list:2:1: w1.ssh.identityFile", "absolute path"}},
		"csv, password":         {CSV, "name,address,roles,password\nw1,10.0.0.21,worker,hunter2\n", []string{"list:1:1: password: a secret in a list of hosts"}},
		"csv, private key":      {CSV, "name,address,roles,rack\nw1,10.0.0.21,worker,-----BEGIN PRIVATE KEY-----hunter2\n", []string{"list:2:1: rack: a secret in a list of hosts"}},
		"csv, control":          {CSV, "name,address,roles,rack\nw1,10.0.0.21,worker,\"a\nb\"\n", []string{"list:2:1: rack: the value has a control character"}},
		"csv, empty":            {CSV, "", []string{"list:1:1: the file has no hosts"}},
		"csv, only a header":    {CSV, head, []string{"list:1:1: the file has no hosts"}},
		"not UTF-8":             {CSV, head + "w1,10.0.0.21,worker,\xb7\xa1\n", []string{"list:2:1: the text is not UTF-8", "CP949"}},
		"UTF-16":                {CSV, "\xff\xfen\x00a\x00", []string{"list:1:1: the text is not UTF-8"}},

		"ini, unknown variable": {INI, "[workers]\nw1 ansible_host=10.0.0.21 ansible_become=true\n", []string{"list:2:1: ansible_become: unknown variable: want one of access_ip, ansible_group_priority,"}},
		"ini, of a group":       {INI, "[workers]\nw1 ansible_host=10.0.0.21\n[workers:vars]\nansible_hots=1\n", []string{"list:4:1: ansible_hots: unknown variable", `did you mean "ansible_host"?`}},
		"ini, section":          {INI, "[workers\nw1\n", []string{"list:1:1: not a section: want [GROUP], [GROUP:vars] or [GROUP:children]"}},
		"ini, kind of section":  {INI, "[workers:hosts]\nw1\n", []string{"list:1:1: not a section"}},
		"ini, no range":         {INI, "[workers]\nw[01-10]\n", []string{"list:2:1: [01-10] is not a range", "FIRST:LAST"}},
		"ini, big range":        {INI, "[workers]\nw[1:5001]\n", []string{"list:2:1: [1:5001] is not a range of at most 5000"}},
		"ini, no value":         {INI, "[workers]\nw1 ansible_host = 10.0.0.21\n", []string{"list:2:1: w1: want NAME=VALUE behind the host, without spaces"}},
		"ini, a variable":       {INI, "[workers]\nansible_user=ops\n", []string{"list:2:1: the line begins with no host", "[GROUP:vars]"}},
		"ini, open quote":       {INI, "[workers]\nw1 rack=\"a\n", []string{"list:2:1: a quote or a backslash in the line is not closed"}},
		"ini, child":            {INI, "[workers:children]\na b\n", []string{"list:2:1: want the name of one group"}},
		"ini, vars":             {INI, "[workers:vars]\nansible_user\n", []string{"list:2:1: want NAME=VALUE in a line of [workers:vars]"}},
		"ini, circle":           {INI, "[workers:children]\na\n[a:children]\nworkers\n[a]\nw1 ansible_host=10.0.0.21\n", []string{"list:", "is a child of itself"}},
		"ini, no address":       {INI, "[workers]\nw1\n", []string{"list:2:1: w1: the host has no address: want ansible_host=ADDRESS"}},
		"ini, no name":          {INI, "[workers]\n10.0.0.21\n", []string{"list:2:1: 10.0.0.21: the host has only an address: want NAME ansible_host=10.0.0.21"}},
		"ini, a DNS name":       {INI, "[workers]\nw1 ansible_host=w1.bank\n", []string{"list:2:1: w1: ansible_host is not an IPv4 address", "ip=ADDRESS"}},
		"ini, two addresses":    {INI, "[workers]\nw1 ip=10.0.0.21 access_ip=10.0.9.21\n", []string{"list:2:1: w1: access_ip and ip are different"}},
		"ini, no role":          {INI, "w1 ansible_host=10.0.0.21\n", []string{"list:1:1: w1: the host has no role: want it in a group such as", "--group GROUP=worker"}},
		"ini, etcd":             {INI, "[workers]\nw1 ansible_host=10.0.0.21\n[etcd]\nw1\n", []string{"list:2:1: w1: the host is in the group etcd", "--ignore etcd"}},
		"ini, another value":    {INI, "[workers]\nw1 ansible_host=10.0.0.21\n[gpu]\nw1 ansible_host=10.0.0.22\n", []string{"list:4:1: ansible_host: w1 has another value for it in line 2"}},
		"ini, port":             {INI, "[workers]\nw1:99999 ansible_host=10.0.0.21\n", []string{"list:2:1: w1.port: want a TCP port"}},
		"ini, template":         {INI, "[workers]\nw1 ansible_host=\"{{ lookup('pipe','id') }}\"\n", []string{"list:2:1: ansible_host: the value is a template, and airgap runs none"}},
		"ini, password":         {INI, "[workers]\nw1 ansible_host=10.0.0.21 ansible_password=hunter2\n", []string{"list:2:1: ansible_password: a secret in a list of hosts"}},
		"ini, become":           {INI, "[all:vars]\nansible_become_pass=hunter2\n", []string{"list:2:1: ansible_become_pass: a secret"}},
		"ini, spaces":           {INI, "[workers]\nw1 ansible_password = hunter2\n", []string{"list:2:1: w1: want NAME=VALUE"}},
		"ini, cut password":     {INI, "[workers]\nw1 ansible_password=my hunter2=x\n", []string{"list:2:1: ansible_password: a secret"}},
		"ini, open password":    {INI, "[workers]\nw1 ansible_password='hunter2\n", []string{"list:2:1: a quote"}},
		"a vault":               {INI, "$ANSIBLE_VAULT;1.1;AES256\n6162\n", []string{"list:1:1: the file is encrypted with ansible-vault"}},
		"a program":             {INI, "#!/bin/sh\necho hunter2\n", []string{"list:1:1: the file is a program, and airgap does not run it", "ansible-inventory"}},

		"yaml, unknown variable": {YAML, "workers:\n  hosts:\n    w1: {ansible_host: 10.0.0.21, colour: {a: hunter2}}\n", []string{"list:3:1: colour: unknown variable"}},
		"yaml, unknown key":      {YAML, "workers:\n  host:\n    w1:\n", []string{"list:2:1: unknown key in the group workers: want hosts, vars or children"}},
		"yaml, a list":           {YAML, "workers:\n  hosts: [w1, w2]\n", []string{"list:2:1: want a mapping (key: value) with hosts"}},
		"yaml, top":              {YAML, "- w1\n", []string{"list:1:1: want a mapping"}},
		"yaml, JSON":             {YAML, `{"_meta": {"hostvars": {"w1": {"ansible_password": "hunter2"}}}, "workers": {"hosts": {}}}`, []string{"list:1:1: the JSON form of an inventory is not supported"}},
		"yaml, twice":            {YAML, "workers:\n  hosts:\n    w1: {ip: 10.0.0.21}\n    w1: {ip: 10.0.0.22}\n", []string{"list:4:1: the same key is in line 3"}},
		"yaml, alias":            {YAML, "x: &x\n  hosts: {}\ny: *x\n", []string{"list:3:1: anchors and aliases are not read"}},
		"yaml, merge":            {YAML, "x:\n  vars: &x {rack: a}\ny:\n  vars:\n    <<: *x\n", []string{"list:5:1: anchors and aliases are not read"}},
		"yaml, vault":            {YAML, "workers:\n  vars:\n    rack: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      hunter2\n", []string{"list:3:1: rack: a secret in a list of hosts"}},
		"yaml, tag":              {YAML, "workers:\n  vars: {rack: !unsafe a}\n", []string{"list:2:1: rack: want one value"}},
		"yaml, token":            {YAML, "workers:\n  vars: {api_token: hunter2}\n", []string{"list:2:1: api_token: a secret"}},
		"yaml, syntax":           {YAML, "workers:\n\thosts: hunter2\n", []string{"list:2:1: the line is indented with a tab"}},
		"yaml, range":            {YAML, "workers:\n  hosts:\n    w[1-9]:\n", []string{"list:3:1: [1-9] is not a range", "FIRST:LAST"}},
		"yaml, empty":            {YAML, "", []string{"list:1:1: the file has no hosts"}},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Parse(Options{File: "list", Format: tc.format}, []byte(tc.text))
			require.Error(t, err)
			assert.Nil(t, result)
			assert.True(t, advice.IsUsage(err))
			assert.True(t, hasLine(err.Error(), tc.want), "no line with all of %q in:\n%s", tc.want, err)
			assert.NotContains(t, err.Error()+advice.Of(err), "hunter2")
		})
	}
}

func hasLine(text string, parts []string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

// TestHint: the next step has the flag for all unknown variables.
func TestHint(t *testing.T) {
	_, err := Parse(Options{File: "list", Format: INI}, []byte("[workers]\nw1 ansible_host=10.0.0.21 b=1 a=2\n[workers:vars]\na=1\n"))
	require.ErrorContains(t, err, "3 problems in the list of hosts")
	assert.Contains(t, advice.Of(err), "--ignore a,b;")
}

// TestManyProblems: a list of another kind gives a page of problems.
func TestManyProblems(t *testing.T) {
	_, err := Parse(Options{File: "list", Format: INI}, []byte(strings.Repeat("= hunter2\n", 5000)))
	require.ErrorContains(t, err, "more than 50 problems in the list of hosts")
	assert.Less(t, strings.Count(err.Error(), "\n"), maxProblems+3)
}

// TestBounds: lists of more hosts, groups and memberships than the limits end with a problem, soon.
func TestBounds(t *testing.T) {
	var groups, members strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&groups, "[g%d]\nw1\n", i)
		fmt.Fprintf(&members, "[g%d]\nw[1:5000]\n", i%900)
	}
	for text, want := range map[string]string{
		"[workers]\na[1:5000]\nb1\n":               "the list has more than 5000 hosts",
		groups.String():                            "the list has more than 1000 groups",
		strings.Repeat("w[1:4999][1:9]\n", 20_000): "more than 50 problems",
		strings.Repeat("w[1:4999] x\n", 20_000):    "more than 50 problems",
		members.String():                           "more than 100000 hosts and groups together",
	} {
		_, err := Parse(Options{File: "list", Format: INI}, []byte(text))
		assert.ErrorContains(t, err, want)
	}
	_, err := Parse(Options{File: "list", Format: CSV}, []byte("name,address,roles\n"+strings.Repeat("w[1-4999],10.0.0.1,worker\n", 20_000)))
	assert.ErrorContains(t, err, "more than 50 problems")
	deep := strings.Repeat("{a: {children: ", 3000)
	_, err = Parse(Options{File: "list", Format: YAML}, []byte("x: {children: "+deep+strings.Repeat("}}", 3000)+"}"))
	assert.Error(t, err)
	var many strings.Builder
	for i := range 5001 {
		fmt.Fprintf(&many, "w%d,10.0.%d.%d,worker\n", i, i/250, i%250+1)
	}
	_, err = Parse(Options{File: "list", Format: CSV}, []byte("name,address,roles\n"+many.String()))
	assert.ErrorContains(t, err, "the list has more than 5000 hosts")
}

// FuzzParse: no text makes the readers fail without a line, and good nodes are good in airgap.yaml.
func FuzzParse(f *testing.F) {
	f.Add("csv", "name,address,roles\nw[1-2],10.0.0.[1-2],worker\n")
	f.Add("ini", kubesprayINI)
	f.Add("ini", "[a:children]\nb\n[b:vars]\nrack='x'\n[workers]\nw1:22 ansible_host=\"10.0.0.1\" # c\n")
	f.Add("yaml", "workers: {hosts: {w1: {ansible_host: 10.0.0.1}}, vars: {rack: a}, children: {b: }}\n")
	f.Fuzz(func(t *testing.T, format, text string) {
		if len(text) > maxSize {
			return
		}
		result, err := Parse(Options{File: "list", Format: Format(format)}, []byte(text))
		if err != nil {
			return
		}
		problems, err := config.JudgeNodes(result.Nodes)
		if err != nil || len(problems) > 0 || len(result.Nodes) == 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}
