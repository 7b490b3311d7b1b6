package airgap_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandImports lists the packages that cmd/airgap may import in addition to cluster/ and bundle/:
// packages for flags, texts and the process. Nothing in it works on a host, a cluster or a network.
var commandImports = []string{
	"cmp", "context", "encoding/json", "errors", "fmt", "io", "log/slog", "maps", "os", "os/signal", "path", "runtime/debug", "runtime/metrics",
	"slices", "strings", "sync", "syscall", "time", "github.com/spf13/cobra", "github.com/spf13/pflag",
	module + "/docs", module + "/internal/advice", module + "/internal/config", module + "/internal/config/inventory",
	module + "/internal/exitcode", module + "/internal/output", module + "/internal/stop", module + "/internal/ui",
	module + "/internal/version", module + "/kubeadm", module + "/kubeadm/backup", module + "/kubeadm/encryption",
	module + "/kubeadm/kube", module + "/kubeadm/leave", module + "/kubeadm/pki", module + "/preflight", module + "/preflight/facts", module + "/registry", module + "/registry/trust",
	module + "/upkeep", module + "/verify", module + "/verify/result",
}

// TestCommandsMakeOneCall: on each way through a command's RunE there is at most one call into
// cluster/ or bundle/, or of anything else that gets the command's context. Calls in functions
// of its package count too. Calls in function values that it passes on do not count.
func TestCommandsMakeOneCall(t *testing.T) {
	c := readCommand(t, "cmd/airgap")
	commands := 0
	for _, file := range c.files {
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			pair, is := n.(*ast.KeyValueExpr)
			if key, named := pairKey(pair, is); !named || key != "RunE" {
				return true
			}
			commands++
			if run, is := pair.Value.(*ast.FuncLit); is {
				if calls := c.most(file, run.Body.List); calls > 1 {
					t.Errorf("%s: %d calls on one way through RunE: have one function below cluster/ or bundle/ make them", c.at(run), calls)
				}
			} else {
				t.Errorf("%s: RunE is no function literal", c.at(pair))
			}
			return true
		})
		for path := range file.imports {
			below := strings.HasPrefix(path, module+"/cluster/") || strings.HasPrefix(path, module+"/bundle/")
			if !below && !slices.Contains(commandImports, path) {
				t.Errorf("%s imports %s: work is done below cluster/ or bundle/", c.at(file.syntax), path)
			}
		}
	}
	if commands < 40 {
		t.Errorf("there are only %d commands", commands)
	}
}

// TestWaysAreCounted: the cases that TestCommandsMakeOneCall finds, and the cases that it accepts.
func TestWaysAreCounted(t *testing.T) {
	for body, want := range map[string]int{
		"return site.One()":                                                    1,
		"if x { return site.One() }; return site.Two()":                        1,
		"if err := site.One(); err != nil { return err }; return site.Two()":   2,
		"if x { site.One() }; return site.Two()":                               2,
		"switch { case x: return site.One(); default: site.Two() }; return y":  1,
		"switch site.One() { case 1: return site.Two() }; return nil":          2,
		"for range x { site.One() }":                                           2,
		"return help(cmd.Context())":                                           1,
		"help(ctx); return site.One()":                                         2,
		"return other.Run(cmd.Context(), func() { site.One() })":               1,
		"return a.finish(site.One(ctx))":                                       1,
		"defer site.One(); return nil":                                         1,
		"x := other.Options{Name: other.Name()}; return a.finish(site.Two(x))": 1,
	} {
		text := `package main
import ("airgap.dev/airgap/cluster/site"; "airgap.dev/airgap/other")
func help(ctx int) error { return site.Help(ctx) }
func run() error { ` + body + "}"
		c := &command{positions: token.NewFileSet(), functions: map[string]*local{}}
		if err := c.add("x.go", text); err != nil {
			t.Fatal(err)
		}
		run := c.functions["run"]
		if got := c.most(run.file, run.body); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
}

// command is a package of commands by its syntax.
type command struct {
	positions *token.FileSet
	files     []*commandFile
	functions map[string]*local // by name, those of app as well
}

type commandFile struct {
	syntax  *ast.File
	imports map[string]string // the path of an import to its name
}

type local struct {
	file  *commandFile
	body  []ast.Stmt
	calls int
	known bool
}

func readCommand(t *testing.T, dir string) *command {
	t.Helper()
	c := &command{positions: token.NewFileSet(), functions: map[string]*local{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if err := c.add(path, nil); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *command) add(path string, text any) error {
	syntax, err := parser.ParseFile(c.positions, path, text, 0)
	if err != nil {
		return err
	}
	file := &commandFile{syntax, map[string]string{}}
	for _, i := range syntax.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		file.imports[path] = path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			file.imports[path] = i.Name.Name
		}
	}
	c.files = append(c.files, file)
	for _, d := range syntax.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Body != nil && (f.Recv == nil || receiver(f) == "app") {
			c.functions[f.Name.Name] = &local{file: file, body: f.Body.List}
		}
	}
	return nil
}

func (c *command) at(n ast.Node) string { return c.positions.Position(n.Pos()).String() }

func pairKey(pair *ast.KeyValueExpr, is bool) (string, bool) {
	if !is {
		return "", false
	}
	key, named := pair.Key.(*ast.Ident)
	if !named {
		return "", false
	}
	return key.Name, true
}

// most is how many calls there are on the way through the statements that has most.
func (c *command) most(file *commandFile, body []ast.Stmt) int {
	on, ended := c.ways(file, body)
	return max(on, ended)
}

// ways counts the calls of the way that goes on behind the statements, and of the one that
// returns within; each -1 where there is none.
func (c *command) ways(file *commandFile, body []ast.Stmt) (on, ended int) {
	ended = -1
	for _, s := range body {
		goesOn, ends := c.step(file, s)
		if ends >= 0 {
			ended = max(ended, on+ends)
		}
		if goesOn < 0 {
			return -1, ended
		}
		on += goesOn
	}
	return on, ended
}

// step is ways of one statement.
func (c *command) step(file *commandFile, s ast.Stmt) (on, ended int) {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return -1, c.calls(file, s)
	case *ast.BlockStmt:
		return c.ways(file, s.List)
	case *ast.IfStmt:
		otherwise := []ast.Stmt{}
		if s.Else != nil {
			otherwise = append(otherwise, s.Else)
		}
		return c.choice(file, c.calls(file, s.Init)+c.calls(file, s.Cond), s.Body.List, otherwise)
	case *ast.SwitchStmt:
		choices, whole := [][]ast.Stmt{}, false
		for _, clause := range s.Body.List {
			choices = append(choices, clause.(*ast.CaseClause).Body)
			whole = whole || clause.(*ast.CaseClause).List == nil
		}
		if !whole {
			choices = append(choices, nil)
		}
		return c.choice(file, c.calls(file, s.Init)+c.calls(file, s.Tag), choices...)
	case *ast.ForStmt, *ast.RangeStmt:
		return 2 * c.calls(file, s), -1 // more than one, if there is one
	default:
		return c.calls(file, s), -1
	}
}

// choice is ways of a statement that goes one of several ways after so many calls.
func (c *command) choice(file *commandFile, before int, choices ...[]ast.Stmt) (on, ended int) {
	on, ended = -1, -1
	for _, body := range choices {
		goesOn, ends := c.ways(file, body)
		if goesOn >= 0 {
			on = max(on, before+goesOn)
		}
		if ends >= 0 {
			ended = max(ended, before+ends)
		}
	}
	return on, ended
}

// calls counts the calls within a statement or an expression, without function literals: other
// code calls these.
func (c *command) calls(file *commandFile, n ast.Node) (count int) {
	if n == nil {
		return 0
	}
	ast.Inspect(n, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if is {
			count += c.call(file, call)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return count
}

// call is 1 for a call that is counted, or the count of a function of this package.
func (c *command) call(file *commandFile, call *ast.CallExpr) int {
	name := ""
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		of, is := fun.X.(*ast.Ident)
		if is && of.Name == "a" {
			name = fun.Sel.Name
		} else if is && file.counts(of.Name) {
			return 1
		}
	}
	if f := c.functions[name]; f != nil {
		if !f.known {
			f.known = true // before it is counted: one that calls itself counts once
			f.calls = c.most(f.file, f.body)
		}
		return f.calls
	}
	if slices.ContainsFunc(call.Args, isContext) {
		return 1
	}
	return 0
}

// counts reports whether the name belongs to a package below cluster/ or bundle/.
func (s *commandFile) counts(name string) bool {
	for path, is := range s.imports {
		if is == name && (strings.HasPrefix(path, module+"/cluster/") || strings.HasPrefix(path, module+"/bundle/")) {
			return true
		}
	}
	return false
}

// isContext reports whether an argument is the command's context.
func isContext(arg ast.Expr) bool {
	if call, is := arg.(*ast.CallExpr); is {
		fun, is := call.Fun.(*ast.SelectorExpr)
		return is && fun.Sel.Name == "Context"
	}
	of, is := arg.(*ast.Ident)
	return is && of.Name == "ctx"
}
