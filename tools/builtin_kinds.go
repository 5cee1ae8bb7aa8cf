// Prints, as JSON, the type declarations of Go packages: struct fields with their tags, and what named types stand for.
//
// Run by tools/builtin_kinds.py; reads source text only, so nothing is compiled. Arguments: importpath=directory.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

type field struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Tag      string `json:"tag,omitempty"`
	Embedded bool   `json:"embedded,omitempty"`
}

type decl struct {
	Fields     []field `json:"fields,omitempty"`
	IsStruct   bool    `json:"isStruct,omitempty"`
	Underlying string  `json:"underlying,omitempty"`
	// OwnJSON says that the type has its own MarshalJSON.
	OwnJSON bool `json:"ownJSON,omitempty"`
}

func main() {
	packages := map[string]map[string]*decl{}
	for _, argument := range os.Args[1:] {
		prefix, directory, found := strings.Cut(argument, "=")
		if !found {
			fmt.Fprintf(os.Stderr, "error: %q is not importpath=directory\n", argument)
			os.Exit(2)
		}
		err := filepath.WalkDir(directory, func(name string, entry os.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			relative, err := filepath.Rel(directory, name)
			if err != nil {
				return err
			}
			if types := packageTypes(path.Join(prefix, filepath.ToSlash(relative)), name); len(types) > 0 {
				packages[path.Join(prefix, filepath.ToSlash(relative))] = types
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(packages); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func packageTypes(importPath, directory string) map[string]*decl {
	names, _ := filepath.Glob(filepath.Join(directory, "*.go"))
	types, ownJSON := map[string]*decl{}, map[string]bool{}
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zz_") || strings.HasPrefix(base, "generated") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		readFile(importPath, file, types, ownJSON)
	}
	for name := range ownJSON {
		if types[name] != nil {
			types[name].OwnJSON = true
		}
	}
	return types
}

func readFile(importPath string, file *ast.File, types map[string]*decl, ownJSON map[string]bool) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		target := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = target
	}
	for _, declaration := range file.Decls {
		switch declared := declaration.(type) {
		case *ast.FuncDecl:
			if declared.Recv != nil && declared.Name.Name == "MarshalJSON" {
				receiver := declared.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if name, ok := receiver.(*ast.Ident); ok {
					ownJSON[name.Name] = true
				}
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				if typed, ok := spec.(*ast.TypeSpec); ok {
					types[typed.Name.Name] = readType(importPath, imports, typed.Type)
				}
			}
		}
	}
}

func readType(importPath string, imports map[string]string, expr ast.Expr) *decl {
	structure, ok := expr.(*ast.StructType)
	if !ok {
		return &decl{Underlying: spell(importPath, imports, expr)}
	}
	result := &decl{IsStruct: true}
	for _, each := range structure.Fields.List {
		tag := ""
		if each.Tag != nil {
			tag = strings.Trim(each.Tag.Value, "`")
		}
		spelled := spell(importPath, imports, each.Type)
		for _, name := range each.Names {
			result.Fields = append(result.Fields, field{Name: name.Name, Type: spelled, Tag: tag})
		}
		if len(each.Names) == 0 {
			name := spelled[strings.LastIndexAny(spelled, ".*")+1:]
			result.Fields = append(result.Fields, field{Name: name, Type: spelled, Tag: tag, Embedded: true})
		}
	}
	return result
}

// spell writes a type with full import paths: []k8s.io/api/core/v1.Container, map[string]string, *int32.
func spell(importPath string, imports map[string]string, expr ast.Expr) string {
	switch typed := expr.(type) {
	case *ast.Ident:
		switch typed.Name {
		case "string", "bool", "byte", "any", "error", "int", "int8", "int16", "int32", "int64", "uint", "uint8",
			"uint16", "uint32", "uint64", "float32", "float64":
			return typed.Name
		}
		return importPath + "." + typed.Name
	case *ast.SelectorExpr:
		if name, ok := typed.X.(*ast.Ident); ok {
			return imports[name.Name] + "." + typed.Sel.Name
		}
	case *ast.StarExpr:
		return "*" + spell(importPath, imports, typed.X)
	case *ast.ArrayType:
		return "[]" + spell(importPath, imports, typed.Elt)
	case *ast.MapType:
		return "map[" + spell(importPath, imports, typed.Key) + "]" + spell(importPath, imports, typed.Value)
	case *ast.InterfaceType:
		return "any"
	}
	return "?"
}
