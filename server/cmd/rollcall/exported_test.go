package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// exported returns the packages of the module that other modules can import, with their types.
func exported(t *testing.T) (list []*types.Package) {
	t.Helper()
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=ImportPath,Name,Export", module+"...")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	var ours []string
	for d := json.NewDecoder(strings.NewReader(out.String())); ; {
		var p struct{ ImportPath, Name, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) && p.Name != "main" && p.Export != "" && !internal(p.ImportPath) {
			ours = append(ours, p.ImportPath)
		}
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	for _, path := range ours {
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pkg)
	}
	return list
}

func internal(path string) bool { return strings.Contains(path+"/", "/internal/") }

// TestExported looks for types of internal packages in what other modules can use: they have no documentation there, and an
// alias shows neither fields nor methods. In a variadic parameter, no values must not mean all, because a list may be empty by
// chance; the test lists those that keep this.
func TestExported(t *testing.T) {
	variadic := make(map[string]bool)
	for _, pkg := range exported(t) {
		for _, name := range pkg.Scope().Names() {
			obj := pkg.Scope().Lookup(name)
			if !obj.Exported() {
				continue
			}
			surface{t, strings.TrimPrefix(pkg.Path(), module) + "." + name, variadic}.object(obj)
		}
	}
	if diff := cmp.Diff([]string{
		"channels.Partial", "channels.Redact", "channels/outbound.Exchange", "channels/outbound.Redact", "checks.Administrator.Upsert", "checks.Manager.Upsert",
		"checks.OpenRuns.Only", "checks.RecentRuns", "checks/monitor.Project.Rehearse", "checks/monitor.Project.Upsert", "checks/monitor.Project.UpsertBare", "checks/records.Tx.SaveAudit", "checks/records.Tx.SaveRecords",
		"checks/sqlstore/dbtest.Server", "checks/sqlstore/dbtest/pgserver.New", "checks/sqlstore/dbtest/pgserver.NewCitus", "checks/sqlstore/dbtest/pgserver.URLs",
		"client.Client.Upsert", "client/wire.Request", "flips.Downtime", "flips.Split",
	}, slices.Sorted(maps.Keys(variadic))); diff != "" {
		t.Errorf("functions with a variadic parameter (-known +found):\n%s", diff)
	}
}

// surface is what an importer sees of an object.
type surface struct {
	t        *testing.T
	name     string
	variadic map[string]bool
}

// in returns the surface of a method or a field.
func (s surface) in(name string) surface {
	s.name += "." + name
	return s
}

func (s surface) object(obj types.Object) {
	tn, ok := obj.(*types.TypeName)
	if !ok {
		s.see(obj.Type())
		return
	}
	if alias, ok := tn.Type().(*types.Alias); ok {
		s.see(alias.Rhs())
		return
	}
	named := tn.Type().(*types.Named)
	s.see(named.Underlying())
	for m := range named.Methods() {
		if m.Exported() {
			s.in(m.Name()).see(m.Signature())
		}
	}
}

// see reports the types of internal packages of which a type is made.
func (s surface) see(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		s.named(t.Obj())
		for a := range t.TypeArgs().Types() {
			s.see(a)
		}
	case *types.Named:
		s.named(t.Obj())
		for a := range t.TypeArgs().Types() {
			s.see(a)
		}
	case interface{ Elem() types.Type }:
		s.see(t.Elem())
		if m, ok := t.(*types.Map); ok {
			s.see(m.Key())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				s.in(f.Name()).see(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				s.in(m.Name()).see(m.Type())
			}
		}
	case *types.Signature:
		if t.Variadic() {
			s.variadic[s.name] = true
		}
		for v := range t.Params().Variables() {
			s.see(v.Type())
		}
		for v := range t.Results().Variables() {
			s.see(v.Type())
		}
	}
}

func (s surface) named(obj *types.TypeName) {
	if pkg := obj.Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), module) && internal(pkg.Path()) {
		s.t.Errorf("%s: %s", s.name, fmt.Sprint(obj.Type()))
	}
}
