DROP TABLE public.governance_exception;
DROP TABLE public.governance_object_ownership;
DROP TABLE public.governance_office;
