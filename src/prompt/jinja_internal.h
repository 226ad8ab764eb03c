/*
 * jinja_internal.h - what the files of the template engine share.
 *
 *	text -> tokens (lexer) -> tree (parse, parse_expr) -> names bound to
 *	slots (scope) -> output (exec for statements, eval for expressions)
 *
 * Scoping is Jinja2's own: it is decided before a template runs. Each frame
 * (template, block, macro, loop body, with, ...) knows the names it uses and
 * how each gets its first value; see jinja_scope.c.
 *
 * Failures are sticky: the first one is kept in struct jinja, and from then on
 * every function returns something harmless at once. Loops ask jinja_failed().
 * Memory comes from one arena that lives as long as one rendering; nothing in
 * it is freed by itself.
 */
#ifndef KF_JINJA_INTERNAL_H
#define KF_JINJA_INTERNAL_H

#include "prompt/jinja.h"

/* Ceilings of one rendering. */
#define JINJA_MEMORY_BYTES	(256u << 20)	/* arena */
#define JINJA_TEXT_BYTES	(16u << 20)	/* any one string */
#define JINJA_SOURCE_BYTES	(4u << 20)	/* one template */
#define JINJA_ITEMS		(1u << 20)	/* any one list */
#define JINJA_STEPS		2000000u	/* turns of loops, calls */
#define JINJA_DEPTH		500u		/* nesting while running */
#define JINJA_PARSE_DEPTH	150u		/* nesting in a template's text */
#define JINJA_TEMPLATE_DEPTH	30u		/* includes, imports, parents */

struct jinja;
struct node;
struct scope;
struct context;
struct template;
struct args;

/* --- values ---------------------------------------------------------- */
enum value_kind {
	V_NONE, V_BOOL, V_INT, V_FLOAT, V_STR, V_LIST, V_TUPLE, V_DICT,
	V_RANGE,	/* range() */
	V_VIEW,		/* d.keys(), d.values(), d.items() */
	V_GEN,		/* what filters like map return: can be walked once */
	V_NAMESPACE, V_MACRO, V_LOOP, V_MODULE, V_BLOCK, V_SELF,
	V_FUNCTION,	/* range, dict, namespace */
	V_METHOD,	/* "text".upper */
	V_UNDEFINED,
};

struct list { struct value **at; size_t count, cap; };
/* Keeps the order of insertion. */
struct dict { struct pair { struct value *key, *value; } *at;
	      size_t count, cap; };

typedef struct value *jinja_filter_fn(struct jinja *j, struct value *subject,
				      const struct args *args);

struct value {
	enum value_kind kind;
	union {
		bool b;
		int64_t i;
		double f;
		struct {
			const char *text;	/* UTF-8, NUL-terminated */
			size_t len;
			bool safe;	/* what Python calls Markup */
		} s;
		struct list list;	/* V_LIST, V_TUPLE */
		struct dict dict;	/* V_DICT, V_NAMESPACE */
		struct { int64_t start, stop, step; } range;
		struct { struct value *dict; char what; } view;	/* k, v, i */
		struct gen *gen;
		struct macro *macro;
		struct loop *loop;
		struct module *module;
		struct block_ref *block;
		struct context *self;
		const struct jinja_function *function;
		struct { struct value *self; const char *name; } method;
		struct {
			const char *hint;	/* said when it is used */
			bool lenient;	/* an inline if without else */
		} undefined;
	} u;
	bool group;	/* a tuple of groupby: has .grouper and .list */
};

/* Arguments of a call, a filter or a test. After jinja_bind, at[] follows the
 * parameter list and holds NULL for what was not given. */
struct args {
	struct value **at;
	size_t count;
	const char **key;	/* keyword arguments */
	struct value **value;
	size_t key_count;
};

/* A filter's result that Python computes when it is asked for. */
struct gen {
	jinja_filter_fn *fill;	/* NULL: items is complete */
	struct value *subject;
	struct args args;
	struct list items;
	size_t next;
	struct kf_err err;	/* to be raised after the last of items */
};

struct macro {
	const struct node *node;
	const char *name;	/* NULL: the body of a call block */
	struct scope *scope;
	struct context *context;
	struct template *template;
};

struct module {
	const char *name;
	struct dict exported;
	struct value *body;	/* a string */
};

struct block_ref { const char *name; struct context *context; size_t depth; };

struct jinja_function {
	const char *name;
	struct value *(*call)(struct jinja *j, const struct args *args);
};

/* Walks anything that can be iterated. */
struct iter {
	struct value *over;
	size_t next;	/* index, or byte offset in a string */
};

/* --- tokens and tree ------------------------------------------------- */
enum token_kind { T_DATA, T_PRINT_BEGIN, T_PRINT_END, T_TAG_BEGIN, T_TAG_END,
		  T_NAME, T_STRING, T_INT, T_FLOAT, T_OP, T_EOF };

/* Operators of two characters: OP('*', '*'). */
#define OP(a, b) ((a) << 8 | (b))

struct token {
	enum token_kind kind;
	unsigned line;
	int op;
	const char *text;	/* name, string, data */
	size_t len;
	int64_t i;
	double f;
};

enum node_kind {
	/* statements */
	N_OUTPUT, N_FOR, N_IF, N_MACRO, N_CALL_BLOCK, N_FILTER_BLOCK, N_WITH,
	N_SET, N_SET_BLOCK, N_BLOCK, N_EXTENDS, N_INCLUDE, N_IMPORT, N_FROM,
	/* expressions */
	N_DATA, N_CONST, N_NAME, N_NSREF, N_TUPLE, N_LIST, N_DICT, N_COND,
	N_FILTER, N_TEST, N_CALL, N_GETATTR, N_GETITEM, N_SLICE, N_CONCAT,
	N_COMPARE, N_BINARY, N_AND, N_OR, N_NOT, N_NEG, N_POS,
};

struct nodes { struct node **at; size_t count, cap; };

/* How a name gets its first value when its frame is entered. */
enum load { LOAD_NOTHING, LOAD_PARAMETER, LOAD_CONTEXT, LOAD_OUTER };

struct ref { unsigned hops, slot; };	/* frames outward, slot there */

struct symbol {
	const char *name;
	enum load load;
	struct ref outer;	/* for LOAD_OUTER, counted from this frame */
	bool stored;
};

struct frame {
	struct frame *parent;
	struct symbol *at;
	size_t count, cap;
};

/* One kind of node uses few of these; jinja_parse*.c says which:
 *	a, b, c		operands; the template of include, import and
 *			extends; target, iterable and condition of for
 *	kids		items, operands, arguments, targets of with
 *	body, other	bodies (other: else; values of with or dict; elif)
 */
struct node {
	enum node_kind kind;
	unsigned line;
	int op;
	const char *name, *attr;
	struct value *value;
	struct node *a, *b, *c, *star, *star2;
	struct nodes kids, body, other, elif;
	const char **key;		/* keywords, or names of from import */
	const char **alias;		/* from import */
	struct nodes key_value;
	size_t key_count;
	bool store, parameter;		/* a name: assigned, bound by frame */
	bool flag;			/* recursive, scoped, ignore missing */
	bool required, with_context;
	bool toplevel;			/* its assignments reach the context */
	bool has_loop, has_caller, has_kwargs, has_varargs;
	struct ref ref;			/* names, and what a statement defines */
	struct ref *refs;		/* from import */
	struct frame *frame;		/* of body */
	struct frame *frame_test, *frame_else;	/* for */
};

struct template {
	struct template *next;
	const char *name;
	struct nodes body;
	struct nodes blocks;		/* every block, nested ones too */
	struct frame *frame;
	bool has_extends;
	struct value *module;		/* imported without context, or NULL */
	bool missing;			/* looked for and not there */
};

/* --- running --------------------------------------------------------- */
struct scope {
	struct scope *parent;
	const struct frame *frame;
	struct value **slot;	/* NULL: not assigned */
};

struct block_list {
	const char *name;
	struct { struct node *node; struct template *template; }
		at[JINJA_TEMPLATE_DEPTH + 2];
	size_t count;
	struct block_list *next;
};

struct context {
	struct template *template;
	struct dict vars;		/* assigned at top level */
	const struct dict *outer;	/* what the template was given */
	struct dict exported;		/* keys: names that import can see */
	struct block_list *blocks;
};

/* Where statements write and look up names. */
struct run {
	struct template *template;
	struct context *context;
	struct scope *scope;
	struct kf_buf *out;
	struct template **parent;	/* set by extends; NULL: no such check */
};

struct loop {
	struct iter iter;
	struct value *self;		/* what the template calls loop */
	const struct node *node;
	struct run run;			/* around the loop */
	bool filtered;			/* items must pass node's condition */
	struct scope *test_scope;
	int64_t index0;
	struct value *before, *current, *after;
	struct value *changed;		/* tuple of the last loop.changed() */
	bool counted;
	int64_t length;
	int64_t depth0;
	bool recursive;
};

struct jinja {
	const struct kf_jinja_loader *loader;
	struct chunk *chunks;
	size_t memory_bytes;
	struct kf_err err;
	const char *file;
	unsigned line;
	unsigned depth, parse_depth, template_depth;
	uint64_t steps;
	struct template *templates;
	struct value none, yes, no, empty;
};

/* --- jinja_value.c: memory, failures, values ------------------------- */
void *jinja_alloc(struct jinja *j, size_t size_bytes);
void jinja_free_all(struct jinja *j);
static inline bool jinja_failed(const struct jinja *j)
{
	return j->err.code != KF_OK;
}
/* Both return None, so that callers can `return jinja_fail(...)`. */
struct value *jinja_fail(struct jinja *j, const char *fmt, ...) KF_PRINTF(2, 3);
struct value *jinja_limit(struct jinja *j, const char *fmt, ...)
	KF_PRINTF(2, 3);
/* Counts a turn of a loop or a call. False when there were too many. */
bool jinja_step(struct jinja *j);
bool jinja_enter(struct jinja *j);	/* nesting; leave even if false */
void jinja_leave(struct jinja *j);

char *jinja_copy(struct jinja *j, const char *text, size_t len);
struct value *jinja_bool(struct jinja *j, bool b);
struct value *jinja_int(struct jinja *j, int64_t i);
struct value *jinja_float(struct jinja *j, double f);
struct value *jinja_str(struct jinja *j, const char *text, size_t len);
struct value *jinja_safe(struct jinja *j, const char *text, size_t len);
/* A string of the same safeness as model. */
struct value *jinja_str_like(struct jinja *j, const struct value *model,
			     const char *text, size_t len);
/* Copies the buffer, releases it; KF_E_LIMIT if it is full. */
struct value *jinja_str_take(struct jinja *j, struct kf_buf *buf);
struct value *jinja_new(struct jinja *j, enum value_kind kind);
struct value *jinja_undefined(struct jinja *j, const char *fmt, ...)
	KF_PRINTF(2, 3);
struct value *jinja_method(struct jinja *j, struct value *self,
			   const char *name);
struct value *jinja_from_json(struct jinja *j, const json_t *json);
/* "str", "int", ... as Python calls it. */
const char *jinja_kind_name(const struct value *v);

void jinja_push(struct jinja *j, struct list *list, struct value *item);
bool jinja_hashable(const struct value *key);
struct value *jinja_dict_get(struct jinja *j, const struct dict *dict,
			     const struct value *key);
struct value *jinja_dict_find(const struct dict *dict, const char *key);
void jinja_dict_set(struct jinja *j, struct dict *dict, struct value *key,
		    struct value *value);
void jinja_dict_put(struct jinja *j, struct dict *dict, const char *key,
		    struct value *value);

/* --- jinja_compare.c ------------------------------------------------- */
bool jinja_truth(struct jinja *j, const struct value *v);
bool jinja_equal(struct jinja *j, const struct value *a, const struct value *b);
/* a < b, a <= b ...; op is '<', '>', OP('<','=') or OP('>','='). */
bool jinja_order(struct jinja *j, int op, const struct value *a,
		 const struct value *b);
bool jinja_contains(struct jinja *j, struct value *seq, struct value *item);
bool jinja_is_number(const struct value *v);
double jinja_as_double(const struct value *v);
/* Ints and bools. Fails with "what must be an integer" otherwise. */
int64_t jinja_as_int(struct jinja *j, const struct value *v, const char *what);

/* --- jinja_iter.c ---------------------------------------------------- */
bool jinja_iterable(const struct value *v);
struct iter jinja_iter(struct jinja *j, struct value *v);
struct value *jinja_next(struct jinja *j, struct iter *iter); /* NULL: end */
/* All items, as a new list. */
struct value *jinja_list_of(struct jinja *j, struct value *v);
bool jinja_has_length(const struct value *v);
int64_t jinja_length(struct jinja *j, const struct value *v);
int64_t jinja_range_count(const struct value *range);

/* --- jinja_repr.c ---------------------------------------------------- */
void jinja_put_float(struct kf_buf *out, double f);
void jinja_put_str(struct jinja *j, struct kf_buf *out, struct value *v);
void jinja_put_repr(struct jinja *j, struct kf_buf *out, struct value *v);
struct value *jinja_to_str(struct jinja *j, struct value *v);
/* As to_str, but a string stays what it is (safe or not). */
struct value *jinja_soft_str(struct jinja *j, struct value *v);
struct value *jinja_filter_tojson(struct jinja *j, struct value *v,
				  const struct args *args);

/* --- jinja_text.c: strings are UTF-8, lengths are in characters ------ */
uint32_t jinja_char_at(const char *text, size_t len, size_t *width);
size_t jinja_put_char(char out[5], uint32_t point);
size_t jinja_char_count(const char *text, size_t len);
/* Byte offset of a character. */
size_t jinja_char_offset(const char *text, size_t len, size_t index);
bool jinja_is_space(uint32_t point);
bool jinja_is_word(uint32_t point);
bool jinja_is_printable(uint32_t point);
size_t jinja_skip_space(const char *text, size_t len, size_t from);
size_t jinja_trim_end(const char *text, size_t len);
struct value *jinja_upper(struct jinja *j, struct value *s);
struct value *jinja_lower(struct jinja *j, struct value *s);
struct value *jinja_capitalize(struct jinja *j, struct value *s);
struct value *jinja_title(struct jinja *j, struct value *s);
struct value *jinja_strip(struct jinja *j, struct value *s,
			  struct value *chars, bool left, bool right);
struct value *jinja_escape(struct jinja *j, struct value *v);
struct value *jinja_replace(struct jinja *j, struct value *s,
			    struct value *old, struct value *new,
			    int64_t count);
/* Splits at line ends as str.splitlines does. */
struct value *jinja_splitlines(struct jinja *j, struct value *s);
/* Offset of needle in hay from `from`, or SIZE_MAX. */
size_t jinja_find(const struct value *hay, const struct value *needle,
		  size_t from);
struct value *jinja_pad(struct jinja *j, struct value *s, int64_t width,
			char how);	/* 'c' center, 'l' ljust, 'r' rjust */

/* --- jinja_number.c, jinja_format.c, jinja_wrap.c -------------------- */
struct value *jinja_arith(struct jinja *j, int op, struct value *a,
			  struct value *b);
struct value *jinja_sign(struct jinja *j, struct value *v, bool negate);
struct value *jinja_to_int(struct jinja *j, struct value *v,
			   struct value *otherwise, int64_t base);
struct value *jinja_to_float(struct jinja *j, struct value *v,
			     struct value *otherwise);
struct value *jinja_round(struct jinja *j, struct value *v, int64_t digits,
			  const char *method);
/* format % arg; arg is a tuple, a dict or one value. */
struct value *jinja_format(struct jinja *j, struct value *format,
			   struct value *arg);
/* textwrap.wrap of one line, pieces joined by `join`. */
void jinja_wrap(struct kf_buf *out, const char *text, size_t len,
		size_t width, bool break_words, bool break_hyphens,
		const char *join);

/* --- jinja_lexer.c, jinja_parse.c, jinja_parse_expr.c, jinja_scope.c --- */
struct parser {
	struct jinja *j;
	struct template *template;
	struct token *at;	/* ends in T_EOF */
	size_t next;
};
struct token *jinja_lex(struct jinja *j, const char *text, size_t len);
void jinja_parse(struct jinja *j, struct template *template,
		 const char *text, size_t len);

struct node *jinja_node(struct parser *p, enum node_kind kind, unsigned line);
void jinja_nodes_add(struct jinja *j, struct nodes *list, struct node *node);
struct token *jinja_peek(const struct parser *p);
struct token *jinja_take(struct parser *p);
bool jinja_at_op(const struct parser *p, int op);
bool jinja_at_name(const struct parser *p, const char *name);
bool jinja_take_op(struct parser *p, int op);
bool jinja_take_name(struct parser *p, const char *name);
void jinja_expect_op(struct parser *p, int op);
const char *jinja_expect_name(struct parser *p);
/* Fails, naming the token that is there; returns a node all the same. */
struct node *jinja_unexpected(struct parser *p, const char *wanted);
struct node *jinja_parse_expr(struct parser *p, bool with_cond);
struct node *jinja_parse_primary(struct parser *p);
struct node *jinja_parse_postfix(struct parser *p, struct node *node);
struct node *jinja_parse_call(struct parser *p, struct node *callee);
struct node *jinja_parse_test(struct parser *p, struct node *subject);
/* end: a name that ends the tuple ("in", "recursive"), or NULL. */
struct node *jinja_parse_tuple(struct parser *p, bool with_cond,
			       const char *end);
struct node *jinja_parse_target(struct parser *p, const char *end);
struct node *jinja_parse_filters(struct parser *p, struct node *subject,
				 bool first_is_bare);

/* The frame's own symbol of that name, or NULL. */
struct symbol *jinja_symbol(const struct frame *frame, const char *name);
/* Here or further out. */
bool jinja_symbol_find(const struct frame *frame, const char *name,
		       struct ref *ref);
void jinja_symbol_parameter(struct jinja *j, struct frame *frame,
			    const char *name);
/* Notes what a statement or an expression does to the frame's names. */
void jinja_scan(struct jinja *j, struct frame *frame, const struct node *node);
void jinja_scan_all(struct jinja *j, struct frame *frame,
		    const struct nodes *nodes);
/* The target of a for: parameters of the frame. */
void jinja_scan_target(struct jinja *j, struct frame *frame,
		       const struct node *target);

/* Binds every name of a parsed template to a slot; also the checks that Jinja2
 * makes before it runs anything. */
void jinja_bind_names(struct jinja *j, struct template *template);

/* --- jinja_eval.c, jinja_attr.c, jinja_call.c, jinja_exec.c ---------- */
struct value *jinja_eval(struct jinja *j, struct run *run,
			 const struct node *node);
struct value *jinja_apply_filter(struct jinja *j, struct run *run,
				 const struct node *node,
				 struct value *subject);
void jinja_eval_args(struct jinja *j, struct run *run, const struct node *node,
		     struct args *out);
struct value *jinja_getattr(struct jinja *j, struct value *v, const char *name);
struct value *jinja_getitem(struct jinja *j, struct value *v,
			    struct value *key);
struct value *jinja_slice(struct jinja *j, struct value *v,
			  struct value *const part[3]);
struct value *jinja_call(struct jinja *j, struct value *callee,
			 const struct args *args);
struct value *jinja_call_method(struct jinja *j, struct value *self,
				const char *name, const struct args *args);
bool jinja_has_method(const struct value *v, const char *name);
struct value *jinja_global(struct jinja *j, const char *name);
struct value *jinja_undefined_used(struct jinja *j, const struct value *v);

void jinja_exec(struct jinja *j, struct run *run, const struct nodes *body);
struct scope *jinja_scope_enter(struct jinja *j, struct run *run,
				const struct frame *frame);
void jinja_scope_reset(struct jinja *j, const struct context *context,
		       struct scope *scope);
void jinja_assign(struct jinja *j, struct run *run, const struct node *target,
		  struct value *value);
void jinja_exec_for(struct jinja *j, struct run *run, const struct node *node,
		    struct value *over, int64_t depth0);
struct value *jinja_loop_attr(struct jinja *j, struct loop *loop,
			      const char *name);
struct value *jinja_loop_call(struct jinja *j, struct loop *loop,
			      const char *name, const struct args *args);
int64_t jinja_loop_length(struct jinja *j, struct loop *loop);
/* The text of one block of a context, depth 0 being the youngest. */
struct value *jinja_block_text(struct jinja *j, const struct block_ref *block);

/* --- jinja_template.c: loading, including, inheriting ---------------- */
/* NULL when there is none of that name (not a failure). */
struct template *jinja_template(struct jinja *j, const char *name);
struct template *jinja_template_must(struct jinja *j, struct value *name);
struct context *jinja_context_new(struct jinja *j, struct template *template,
				  const struct dict *outer);
/* The given names as a template called from here would see them. */
struct dict *jinja_context_all(struct jinja *j, const struct context *context,
			       const struct scope *locals);
struct value *jinja_resolve(struct jinja *j, const struct context *context,
			    const char *name);
void jinja_render_root(struct jinja *j, struct template *template,
		       struct context *context, struct kf_buf *out);
struct block_list *jinja_blocks(const struct context *context,
				const char *name);
void jinja_blocks_add(struct jinja *j, struct context *context,
		      struct template *template);
void jinja_exec_include(struct jinja *j, struct run *run,
			const struct node *node);
void jinja_exec_import(struct jinja *j, struct run *run,
		       const struct node *node);
void jinja_exec_block(struct jinja *j, struct run *run,
		      const struct node *node);
void jinja_exec_extends(struct jinja *j, struct run *run,
			const struct node *node);
void jinja_run_block(struct jinja *j, const struct block_list *list,
		     size_t depth, struct context *context,
		     struct kf_buf *out);

/* --- jinja_filter*.c, jinja_test.c ----------------------------------- */
struct jinja_filter {
	const char *name;
	const char *parameters;	/* "length,killwords"; "*": any */
	unsigned required;	/* of the parameters */
	bool lazy;		/* Python computes it when it is walked */
	jinja_filter_fn *call;
};
/* Each ends in a NULL name. */
extern const struct jinja_filter jinja_filters_text[];
extern const struct jinja_filter jinja_filters_list[];
extern const struct jinja_filter jinja_filters_pick[];
const struct jinja_filter *jinja_filter_find(const char *name);
struct value *jinja_filter_call(struct jinja *j, const char *name,
				struct value *subject,
				const struct args *args);
bool jinja_test_exists(const char *name);
bool jinja_test_call(struct jinja *j, const char *name, struct value *subject,
		     const struct args *args);
/* Sorts keyword arguments into their places. what names the callee. */
bool jinja_bind(struct jinja *j, const char *what, const char *parameters,
		unsigned required, const struct args *given, struct args *out);
struct value *jinja_gen(struct jinja *j, struct list items);
/* Fills a lazy result with its items; what went wrong is kept in it. */
void jinja_gen_fill(struct jinja *j, struct gen *gen);
/* An attribute path: "a.b.0", an integer, or NULL for the item itself. */
struct value *jinja_path(struct jinja *j, struct value *item,
			 struct value *path, struct value *otherwise);

#endif
