DROP TABLE public.governance_gate_opening;
DROP TABLE public.governance_gate;
DROP TABLE public.governance_request;
DROP TABLE public.governance_person_login;
DROP TABLE public.governance_person;
DROP TABLE public.governance_schema;
DROP TABLE public.governance_migration;
